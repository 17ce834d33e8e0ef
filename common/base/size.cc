#include "common/base/size.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>

#include "common/base/check.h"

namespace trainctl::base {
namespace {

struct Unit {
  std::string_view name;
  int64_t factor;
};

constexpr int64_t kKi = 1024;

constexpr std::array<Unit, 11> kByteUnits = {{{"", 1},
                                              {"B", 1},
                                              {"kB", 1'000},
                                              {"KB", 1'000},
                                              {"MB", 1'000'000},
                                              {"GB", 1'000'000'000},
                                              {"TB", 1'000'000'000'000},
                                              {"KiB", kKi},
                                              {"MiB", kKi* kKi},
                                              {"GiB", kKi* kKi* kKi},
                                              {"TiB", kKi* kKi* kKi* kKi}}};

constexpr std::array<Unit, 4> kDurationUnits = {
    {{"d", 86'400}, {"h", 3'600}, {"min", 60}, {"s", 1}}};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Takes what `accept` holds true for from the front of text.
template <class Accept>
std::string_view TakeWhile(std::string_view& text, Accept accept) {
  size_t length = 0;
  while (length < text.size() && accept(text[length])) ++length;
  const std::string_view taken = text.substr(0, length);
  text.remove_prefix(length);
  return taken;
}

// "12" × 1000 exactly, "1.5" × 1000 through a double; nullopt for what is no decimal number or
// beyond int64.
std::optional<int64_t> Scale(std::string_view number, int64_t factor) {
  const char* const end = number.data() + number.size();
  int64_t whole = 0;
  if (const auto [stop, error] = std::from_chars(number.data(), end, whole);
      error == std::errc() && stop == end) {
    int64_t product = 0;
    if (__builtin_mul_overflow(whole, factor, &product)) return std::nullopt;
    return product;
  }
  double real = 0;
  const auto [stop, error] = std::from_chars(number.data(), end, real, std::chars_format::fixed);
  if (error != std::errc() || stop != end) return std::nullopt;
  const double product = std::round(real * static_cast<double>(factor));
  if (!(product < static_cast<double>(std::numeric_limits<int64_t>::max()))) return std::nullopt;
  return static_cast<int64_t>(product);
}

// One part of a duration, such as "30min", from the front of text; units before `first` were used
// already.
std::optional<int64_t> TakeDurationPart(std::string_view& text, size_t& first) {
  const std::string_view number = TakeWhile(text, IsDigit);
  const std::string_view unit = TakeWhile(text, [](char c) { return c >= 'a' && c <= 'z'; });
  for (size_t i = first; i < kDurationUnits.size(); ++i) {
    if (kDurationUnits[i].name != unit) continue;
    first = i + 1;
    return Scale(number, kDurationUnits[i].factor);
  }
  return std::nullopt;
}

std::string DurationText(int64_t seconds, std::string_view before_unit) {
  std::string text = seconds < 0 ? "-" : "";
  uint64_t rest = seconds < 0 ? 0 - static_cast<uint64_t>(seconds) : static_cast<uint64_t>(seconds);
  if (rest == 0) return "0" + std::string(before_unit) + "s";
  std::string_view gap;
  for (const Unit& unit : kDurationUnits) {
    const uint64_t count = rest / static_cast<uint64_t>(unit.factor);
    rest %= static_cast<uint64_t>(unit.factor);
    if (count == 0) continue;
    text.append(gap).append(std::to_string(count)).append(before_unit).append(unit.name);
    gap = " ";
  }
  return text;
}

}  // namespace

std::optional<int64_t> ParseBytes(std::string_view text) {
  const std::string_view number = TakeWhile(text, [](char c) { return IsDigit(c) || c == '.'; });
  if (number.empty() || !IsDigit(number.front()) || !IsDigit(number.back())) return std::nullopt;
  if (text.size() > 1 && text.front() == ' ') text.remove_prefix(1);
  for (const Unit& unit : kByteUnits) {
    if (unit.name == text) return Scale(number, unit.factor);
  }
  return std::nullopt;
}

std::optional<int64_t> ParseDuration(std::string_view text) {
  if (text.empty()) return std::nullopt;
  int64_t seconds = 0;
  size_t first_unit = 0;
  while (true) {
    const auto part = TakeDurationPart(text, first_unit);
    if (!part || __builtin_add_overflow(seconds, *part, &seconds)) return std::nullopt;
    if (text.empty()) return seconds;
    if (text.front() == ' ') text.remove_prefix(1);
  }
}

std::string FormatBytes(int64_t bytes) {
  constexpr double kKiB = 1024, kMiB = 1024 * kKiB, kGiB = 1024 * kMiB;
  const double value = static_cast<double>(bytes), size = std::abs(value);
  if (size < kKiB) return std::to_string(bytes) + " B";
  const bool is_small = size < kMiB, is_medium = size < kGiB / 10;
  char buffer[40];
  std::snprintf(buffer, sizeof buffer, "%.2f %s",
                value / (is_small    ? kKiB
                         : is_medium ? kMiB
                                     : kGiB),
                is_small    ? "KiB"
                : is_medium ? "MiB"
                            : "GiB");
  return buffer;
}

std::string SpellBytes(int64_t bytes) {
  CHECK(bytes >= 0) << bytes;
  std::string shortest = std::to_string(bytes) + "B";
  for (const Unit& unit : kByteUnits) {
    if (unit.factor == 1 || unit.name == "KB" || bytes == 0 || bytes % unit.factor != 0) continue;
    std::string spelled = std::to_string(bytes / unit.factor) + std::string(unit.name);
    if (spelled.size() <= shortest.size()) shortest = std::move(spelled);
  }
  return shortest;
}

std::string FormatDuration(int64_t seconds) { return DurationText(seconds, " "); }

std::string SpellDuration(int64_t seconds) { return DurationText(seconds, ""); }

std::string WithThousands(int64_t value) {
  std::string text = std::to_string(value);
  const size_t first_digit = value < 0 ? 1 : 0;
  for (size_t end = text.size(); end > first_digit + 3; end -= 3) text.insert(end - 3, ",");
  return text;
}

}  // namespace trainctl::base
