#include "common/rank/cpu_list.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace trainctl::job {
namespace {

constexpr int kMostCpus = 1 << 16;

// The number at the front, which is taken off.
std::optional<int> TakeNumber(std::string_view& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 0 || value >= kMostCpus) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

bool Take(std::string_view& text, char character) {
  if (!text.starts_with(character)) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

std::vector<int> ParseCpuList(std::string_view text) {
  std::vector<int> cpus;
  do {
    const std::optional<int> first = TakeNumber(text);
    if (!first) break;
    const std::optional<int> last = Take(text, '-') ? TakeNumber(text) : first;
    if (!last) break;
    for (int cpu = *first; cpu <= *last; ++cpu) cpus.push_back(cpu);
  } while (Take(text, ','));
  return cpus;
}

std::string CpuListText(std::vector<int> cpus) {
  std::ranges::sort(cpus);
  std::string text;
  for (size_t first = 0; first < cpus.size();) {
    size_t last = first;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    text += (text.empty() ? "" : ",") + std::to_string(cpus[first]);
    if (last > first) text += "-" + std::to_string(cpus[last]);
    first = last + 1;
  }
  return text;
}

}  // namespace trainctl::job
