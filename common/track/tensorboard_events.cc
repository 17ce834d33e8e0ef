#include "common/track/tensorboard_events.h"

#include <bit>

#include "common/track/proto_wire.h"

namespace trainctl::track {
namespace {

// TFRecord masks its sums, since data may hold sums themselves.
uint32_t MaskedCrc(std::string_view bytes) { return std::rotr(Crc32c(bytes), 15) + 0xA282EAD8u; }

std::string Record(std::string_view data) {
  const std::string length = LittleEndian(data.size(), 8);
  return length + LittleEndian(MaskedCrc(length), 4) + std::string(data) +
         LittleEndian(MaskedCrc(data), 4);
}

// wall_time, in seconds.
std::string TimeField(int64_t micros) { return DoubleField(1, static_cast<double>(micros) / 1e6); }

}  // namespace

std::string EventFileHead(int64_t time) {
  return Record(TimeField(time) + BytesField(3, "brain.Event:2"));
}

std::string SessionStart(int64_t step, int64_t time) {
  return Record(TimeField(time) + VarintField(2, static_cast<uint64_t>(step)) +
                BytesField(7, VarintField(1, 1)));
}

std::string CurveName(const std::string& metric, std::optional<int64_t> rank,
                      std::string_view phase) {
  std::string curve = metric;
  if (rank) curve += "/rank_" + std::to_string(*rank);
  return phase.empty() ? curve : (curve + "/").append(phase);
}

std::string ScalarEvent(const std::string& tag, int64_t step, double value, int64_t time) {
  const std::string point = BytesField(1, tag) + FloatField(2, static_cast<float>(value));
  return Record(TimeField(time) + VarintField(2, static_cast<uint64_t>(step)) +
                BytesField(5, BytesField(1, point)));
}

}  // namespace trainctl::track
