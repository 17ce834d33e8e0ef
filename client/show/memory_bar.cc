#include "client/show/memory_bar.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "common/base/size.h"
#include "common/record/memory_record.h"

namespace trainctl::client {
namespace {

// How a kind is drawn, in the order of the kinds that are parts.
struct Pattern {
  const char* drawn;
  const char* ascii;

  std::string Text(bool unicode) const { return unicode ? drawn : ascii; }
};
constexpr Pattern kPatterns[] = {{"█", "P"}, {"▓", "G"}, {"▒", "O"}, {"▚", "H"}, {"░", "x"}};
constexpr int kNarrowestBar = 10, kWidestBar = 40;

constexpr bool IsPart(const job::MemoryKind& kind) { return kind.is_part; }
static_assert(std::ranges::count_if(job::kMemoryKinds, IsPart) == std::ssize(kPatterns));

struct Part {
  std::string_view name;
  int64_t bytes = 0;
  Pattern pattern;
};

bool IsOnDevice(const job::MemoryKind& kind, const BarDevice& device) {
  return kind.is_part && (device.is_cpu || kind.bytes != &job::MemoryByKind::optimizer_cpu);
}

// Those that the device holds anything of.
std::vector<Part> PartsOf(const HeldMemory& memory) {
  std::vector<Part> parts;
  const Pattern* pattern = kPatterns;
  for (const job::MemoryKind& kind : job::kMemoryKinds) {
    if (!kind.is_part) continue;
    if (memory.kinds.*kind.bytes > 0)
      parts.push_back({kind.name, memory.kinds.*kind.bytes, *pattern});
    ++pattern;
  }
  return parts;
}

std::string BarText(const HeldMemory& memory, int width, bool unicode) {
  const int64_t full = std::max({memory.limit, memory.whole, memory.predicted_peak});
  const auto cell_of = [&](int64_t bytes) {
    const double share = static_cast<double>(bytes) / static_cast<double>(full);
    return std::min(width, static_cast<int>(std::lround(share * width)));
  };
  const std::vector<Part> parts = PartsOf(memory);
  const int mark = memory.predicted_peak > 0 ? std::max(0, cell_of(memory.predicted_peak) - 1) : -1;
  std::string bar = "[";
  int64_t below = 0;
  auto part = parts.begin();
  for (int cell = 0; cell < width; ++cell) {
    for (; part != parts.end() && cell >= cell_of(below + part->bytes); ++part)
      below += part->bytes;
    if (cell == mark) {
      bar += "|";
    } else if (part == parts.end()) {
      bar += unicode ? " " : ".";
    } else {
      bar += part->pattern.Text(unicode);
    }
  }
  return bar + "]";
}

// "█ params 2.10 GiB ▓ grads …"
std::string LegendText(const HeldMemory& memory, bool unicode) {
  std::string text;
  for (const Part& part : PartsOf(memory)) {
    text += " " + part.pattern.Text(unicode) + " " + std::string(part.name) + " " +
            base::FormatBytes(part.bytes);
  }
  if (memory.limit > 0) text += " of " + base::FormatBytes(memory.limit);
  if (memory.predicted_peak > 0)
    text += ", | predicted " + base::FormatBytes(memory.predicted_peak);
  return text;
}

}  // namespace

std::optional<HeldMemory> HeldMemoryOf(const v1::JobDetail& detail, const BarDevice& device) {
  std::map<job::Phase, HeldMemory> phases;
  int64_t predicted_peak = 0;
  for (const record::MemoryRow& row : record::MemoryRows(detail)) {
    if (row.kind->bytes == &job::MemoryByKind::peak_allocated)
      predicted_peak = std::max(predicted_peak, row.predicted.value_or(0));
    if (!IsOnDevice(*row.kind, device) || !row.measured) continue;
    HeldMemory& at = phases[row.phase];
    at.kinds.*row.kind->bytes = *row.measured;
    at.whole += *row.measured;
  }
  const auto most =
      std::ranges::max_element(phases, {}, [](const auto& phase) { return phase.second.whole; });
  if (most == phases.end() || most->second.whole <= 0) return std::nullopt;
  HeldMemory memory = most->second;
  memory.predicted_peak = predicted_peak;
  const auto device_bytes = device.bytes > 0 ? std::optional(device.bytes) : std::nullopt;
  memory.limit = record::MemoryLimit(detail, device_bytes).value_or(0);
  return memory;
}

std::string MemoryBar(const v1::JobDetail& detail, const BarDevice& device,
                      const BarLayout& layout) {
  const std::optional<HeldMemory> memory = HeldMemoryOf(detail, device);
  if (!memory) return "";
  const int width =
      layout.columns <= 0 ? kWidestBar : std::clamp(layout.columns / 4, kNarrowestBar, kWidestBar);
  return BarText(*memory, width, layout.unicode) + LegendText(*memory, layout.unicode);
}

std::string ShortMemoryBar(const HeldMemory& memory, const BarLayout& layout) {
  return BarText(memory, layout.columns - 2, layout.unicode);
}

std::string MemoryBarLegend(bool unicode) {
  std::string text;
  const Pattern* pattern = kPatterns;
  for (const job::MemoryKind& kind : job::kMemoryKinds) {
    if (!kind.is_part) continue;
    text += (text.empty() ? "" : " ") + (pattern++)->Text(unicode) + " " + std::string(kind.name);
  }
  return text;
}

}  // namespace trainctl::client
