#include "worker/shim/deadline_file.h"

#include <cmath>
#include <optional>

#include "common/base/file.h"
#include "worker/shim/line_fields.h"
#include "worker/shim/rank_folder.h"

namespace trainctl::shim {
namespace {

constexpr size_t kMaxDeadlineBytes = 16 << 10;
constexpr double kMostMicros = 9e15;  // 285 years; a double has all whole numbers up to there

// A whole number of microseconds of either clock; nullopt: it is none.
std::optional<int64_t> Micros(const std::string& text, const char* key) {
  const std::optional<double> value = NumberField(text, key);
  const bool is_one = value && *value >= 0 && *value <= kMostMicros && *value == std::floor(*value);
  return is_one ? std::optional(static_cast<int64_t>(*value)) : std::nullopt;
}

// By either clock; a number that is there and damaged is not passed over.
std::optional<base::SteadyMicros> TimeIn(const std::string& text, const base::Clock& clock) {
  if (NumberField(text, "steady_at")) return Micros(text, "steady_at");
  const std::optional<int64_t> at = Micros(text, "at");
  return at ? std::optional(clock.Steady() + (*at - clock.Wall())) : std::nullopt;
}

bool IsWhole(const std::string& text) {
  const size_t last = text.find_last_not_of(" \n");
  return text.starts_with('{') && last != std::string::npos && text[last] == '}';
}

}  // namespace

std::string DeadlinePath(const std::string& rank_folder) {
  return rank_folder + "/" + std::string(kDeadlineFile);
}

base::Result<DeadlineFile> ReadDeadline(const std::string& rank_folder, const base::Clock& clock) {
  const std::string path = DeadlinePath(rank_folder);
  base::Result<std::string> text = base::ReadRegularFile(path, kMaxDeadlineBytes);
  if (!text) return text.error();
  const std::optional<base::SteadyMicros> at = TimeIn(*text, clock);
  const std::optional<int64_t> grace_us = Micros(*text, "grace_us");
  if (!IsWhole(*text) || !at || !grace_us)
    return base::Error{base::Code::kInvalid,
                       path + " is damaged: expected whole numbers steady_at and grace_us"};
  return DeadlineFile{*at, *grace_us, std::move(*text)};
}

}  // namespace trainctl::shim
