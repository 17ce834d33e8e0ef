#include "client/top/spark_line.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>

namespace trainctl::client {

std::string SparkLine(const LoadCurve& curve, bool unicode, int buckets) {
  constexpr const char* kBars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr const char* kAscii[] = {"_", ".", ":", "-", "=", "+", "*", "#"};
  constexpr int kHighest = static_cast<int>(std::size(kBars)) - 1;
  const auto shown = std::span(curve).last(static_cast<size_t>(std::min(buckets, kLoadBuckets)));
  if (std::ranges::count_if(shown, [](const auto& one) { return one.has_value(); }) < 2) return "";
  std::string line;
  for (const std::optional<double>& percent : shown) {
    const double share = std::clamp(percent.value_or(0) / 100, 0.0, 1.0);
    const auto level = static_cast<size_t>(std::lround(share * kHighest));
    line += !percent ? " " : unicode ? kBars[level] : kAscii[level];
  }
  return line;
}

}  // namespace trainctl::client
