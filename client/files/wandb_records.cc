#include "client/files/wandb_records.h"

#include <algorithm>
#include <utility>

#include "common/track/proto_wire.h"

namespace trainctl::client {
namespace {

using track::BytesField;
using track::Crc32;
using track::LittleEndian;
using track::VarintField;

constexpr size_t kBlock = 32 * 1024, kPieceHead = 7;

enum PieceType { kWhole = 1, kFirst = 2, kMiddle = 3, kLast = 4 };

// Fields of Record.
enum RecordField : uint32_t {
  kNum = 1,
  kHistory = 2,
  kSummary = 3,
  kRun = 17,
  kExit = 18,
  kHeader = 21
};

// The first version of wandb that reads offline runs of this kind.
constexpr std::string_view kOldestReader = "0.70.0", kWriter = "trainctl";

// Items of a config, summary or history, as they are repeated in `field`.
std::string Items(uint32_t field, const std::map<std::string, std::string>& values) {
  std::string items;
  for (const auto& [key, json] : values)
    items += BytesField(field, BytesField(1, key) + BytesField(16, json));
  return items;
}

std::string TextField(uint32_t field, std::string_view text) {
  return text.empty() ? "" : BytesField(field, text);
}

std::string TimestampOf(int64_t micros) {
  return VarintField(1, static_cast<uint64_t>(micros / 1'000'000)) +
         VarintField(2, static_cast<uint64_t>(micros % 1'000'000 * 1000));
}

}  // namespace

WandbLog::WandbLog() : text_(":W&B" + LittleEndian(0xBEE1, 2) + LittleEndian(0, 1)) {
  in_block_ = text_.size();
  Add(BytesField(kHeader, BytesField(1, BytesField(1, kWriter) + BytesField(2, kOldestReader))));
}

void WandbLog::AddRun(const WandbRun& run) {
  std::string fields = BytesField(1, run.id) + TextField(3, run.project) +
                       BytesField(4, Items(1, run.config)) + TextField(6, run.group) +
                       TextField(8, run.name) + TextField(9, run.notes);
  for (const std::string& tag : run.tags) fields += BytesField(10, tag);
  Add(BytesField(kRun, fields + TextField(13, run.host) + BytesField(17, TimestampOf(run.start))));
}

void WandbLog::AddHistory(int64_t step, const WandbRow& row) {
  const std::string number = VarintField(1, static_cast<uint64_t>(step));
  Add(BytesField(kHistory, Items(1, row) + BytesField(2, number)));
}

void WandbLog::AddSummary(const WandbRow& row) { Add(BytesField(kSummary, Items(1, row))); }

void WandbLog::AddExit(int code, int64_t runtime_seconds) {
  Add(BytesField(kExit, VarintField(1, static_cast<uint64_t>(code)) +
                            VarintField(2, static_cast<uint64_t>(runtime_seconds))));
}

std::string WandbLog::Take() { return std::exchange(text_, ""); }

void WandbLog::Add(std::string record) {
  record = VarintField(kNum, static_cast<uint64_t>(++records_)) + record;
  std::string_view rest = record;
  for (bool first = true, last = false; !last; first = false) {
    if (kBlock - in_block_ < kPieceHead) {
      text_.append(kBlock - in_block_, '\0');
      in_block_ = 0;
    }
    const size_t size = std::min(rest.size(), kBlock - in_block_ - kPieceHead);
    last = size == rest.size();
    AddPiece(first ? (last ? kWhole : kFirst) : (last ? kLast : kMiddle), rest.substr(0, size));
    rest.remove_prefix(size);
  }
}

void WandbLog::AddPiece(int type, std::string_view data) {
  const std::string typed = LittleEndian(static_cast<uint64_t>(type), 1) + std::string(data);
  text_ += LittleEndian(Crc32(typed), 4) + LittleEndian(data.size(), 2) + typed;
  in_block_ = (in_block_ + kPieceHead + data.size()) % kBlock;
}

}  // namespace trainctl::client
