#include "client/show/format.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>

#include "client/show/character_width.h"
#include "common/base/size.h"

namespace trainctl::client {
namespace {

constexpr int kNarrowestProse = 24;

std::string Print(const char* format, auto... values) {
  char text[64];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

std::string FormatSeconds(double seconds) {
  if (seconds < 1) return Print("%.2f ms", 1000 * seconds);
  if (seconds < 60) return Print("%.2f s", seconds);
  return base::FormatDuration(std::llround(seconds));
}

std::string WithoutTrailingZeros(std::string text) {
  if (text.find('.') == std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

}  // namespace

std::string FormatNumber(double value) {
  const double size = std::abs(value);
  if (!std::isfinite(value)) return Print("%g", value);
  if (size >= 1e15) return Print("%.3e", value);
  if (size >= 1000 || value == std::trunc(value)) return WithThousands(std::llround(value));
  if (size < 1e-5) return Print("%.4g", value);
  const int digits = std::max(0, 3 - static_cast<int>(std::floor(std::log10(size))));
  return WithoutTrailingZeros(Print("%.*f", digits, value));
}

std::string FormatWithUnit(double value, std::string_view unit) {
  if (!std::isfinite(value)) return FormatNumber(value);
  if (unit == "bytes") return base::FormatBytes(std::llround(value));
  if (unit == "s") return FormatSeconds(value);
  if (unit == "%") return Print("%.0f %%", value);
  if (unit == "×") return Print("%.2f×", value);
  if (unit.empty()) return FormatNumber(value);
  return FormatNumber(value) + " " + std::string(unit);
}

std::string FormatInSteps(double value, double step, std::string_view unit) {
  constexpr int kMostDigits = 15;
  constexpr const char* kByteUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::string shown(unit);
  for (size_t power = 0; unit == "bytes" && power < std::size(kByteUnits); ++power) {
    shown = kByteUnits[power];
    if (std::abs(value) < 1024 || power + 1 == std::size(kByteUnits)) break;
    value /= 1024;
    step /= 1024;
  }
  const double digits = step > 0 ? std::ceil(-std::log10(step) - 1e-9) : 0;
  const std::string number =
      Print("%.*f", static_cast<int>(std::clamp<double>(digits, 0, kMostDigits)), value);
  if (shown.empty() || shown == "×") return number + shown;
  return number + " " + shown;
}

std::string NameWithId(std::string_view name, std::string_view id) {
  return std::string(name) + " (" + std::string(id) + ")";
}

std::string FormatDelta(double ratio) {
  const double percent = 100 * ratio;
  if (!std::isfinite(percent) || std::abs(percent) < 0.05) return "±0 %";
  const char* sign = percent > 0 ? "+" : "−";
  return sign + Print(std::abs(percent) < 999.95 ? "%.1f %%" : "%.0f %%", std::abs(percent));
}

std::string FormatClock(double seconds) {
  const int64_t whole = std::max<int64_t>(0, std::llround(seconds));
  const long long hours = whole / 3600, minutes = whole / 60 % 60, rest = whole % 60;
  return hours > 0 ? Print("%lld:%02lld:%02lld", hours, minutes, rest)
                   : Print("%lld:%02lld", minutes, rest);
}

int DisplayWidth(std::string_view text) {
  int width = 0;
  while (!text.empty()) {
    const Character character = FirstCharacter(text);
    width += character.columns;
    text.remove_prefix(character.bytes);
  }
  return width;
}

std::string Truncate(std::string_view text, int width) {
  if (DisplayWidth(text) <= width) return std::string(text);
  if (width <= 0) return "";
  size_t end = 0;
  for (int columns = 0; end < text.size();) {
    const Character next = FirstCharacter(text.substr(end));
    columns += next.columns;
    if (columns >= width) break;
    end += next.bytes;
  }
  return std::string(text.substr(0, end)) + "…";
}

std::vector<std::string> WrapWords(std::string_view text, int width) {
  std::vector<std::string> lines = {""};
  size_t begin = 0;
  while (begin <= text.size()) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    if (!lines.back().empty() && DisplayWidth(lines.back()) + 1 + DisplayWidth(word) > width)
      lines.emplace_back();
    if (!lines.back().empty()) lines.back() += ' ';
    lines.back() += word;
    begin = end + 1;
  }
  return lines;
}

std::string WrapLines(std::string_view text, int width, int indent) {
  const std::string gap(static_cast<size_t>(indent), ' ');
  std::string wrapped;
  for (const std::string& line : Split(text, '\n')) {
    // The first line is as wide as the others: a label may stand before it.
    const std::vector<std::string> lines =
        width > 0 ? WrapWords(line, std::max(kNarrowestProse, width - indent)) : std::vector{line};
    wrapped += (wrapped.empty() ? "" : gap) + Join(lines, "\n" + gap) + "\n";
  }
  return wrapped;
}

std::string LabelledLine(const std::string& label, int label_width, std::string_view text,
                         int width) {
  std::string line = "  " + label;
  line.resize(std::max(line.size() + 1, static_cast<size_t>(2 + label_width)), ' ');
  return line + WrapLines(text, width, DisplayWidth(line));
}

std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> pieces;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    pieces.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return pieces;
}

}  // namespace trainctl::client
