#include "client/show/memory_bar.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
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

struct Measured {
  job::MemoryByKind kinds;
  int64_t whole = 0;
  int64_t predicted_peak = 0;  // 0: not known
};

// At the phase at which what is on the device is most together.
std::optional<Measured> MostOf(const v1::JobDetail& detail, const BarDevice& device) {
  std::map<job::Phase, Measured> phases;
  int64_t predicted_peak = 0;
  for (const record::MemoryRow& row : record::MemoryRows(detail)) {
    if (row.kind->bytes == &job::MemoryByKind::peak_allocated)
      predicted_peak = std::max(predicted_peak, row.predicted.value_or(0));
    if (!IsOnDevice(*row.kind, device) || !row.measured) continue;
    Measured& at = phases[row.phase];
    at.kinds.*row.kind->bytes = *row.measured;
    at.whole += *row.measured;
  }
  if (phases.empty()) return std::nullopt;
  Measured most = std::ranges::max_element(phases, {}, [](const auto& phase) {
                    return phase.second.whole;
                  })->second;
  most.predicted_peak = predicted_peak;
  return most;
}

// Those that the device holds anything of.
std::vector<Part> PartsOf(const Measured& memory) {
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

std::string BarText(const Measured& memory, int64_t full, int width, const BarLayout& layout) {
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
      bar += layout.unicode ? " " : ".";
    } else {
      bar += layout.unicode ? part->pattern.drawn : part->pattern.ascii;
    }
  }
  return bar + "]";
}

// "█ params 2.10 GiB ▓ grads …"
std::string LegendText(const Measured& memory, int64_t limit, const BarLayout& layout) {
  std::string text;
  for (const Part& part : PartsOf(memory)) {
    text += " " + std::string(layout.unicode ? part.pattern.drawn : part.pattern.ascii) + " " +
            std::string(part.name) + " " + base::FormatBytes(part.bytes);
  }
  if (limit > 0) text += " of " + base::FormatBytes(limit);
  if (memory.predicted_peak > 0)
    text += ", | predicted " + base::FormatBytes(memory.predicted_peak);
  return text;
}

}  // namespace

std::string MemoryBar(const v1::JobDetail& detail, const BarDevice& device,
                      const BarLayout& layout) {
  const std::optional<Measured> memory = MostOf(detail, device);
  if (!memory || memory->whole <= 0) return "";
  const auto device_bytes = device.bytes > 0 ? std::optional(device.bytes) : std::nullopt;
  const int64_t limit = record::MemoryLimit(detail, device_bytes).value_or(0);  // 0: not known
  const int64_t full = std::max({limit, memory->whole, memory->predicted_peak});
  const int width =
      layout.columns <= 0 ? kWidestBar : std::clamp(layout.columns / 4, kNarrowestBar, kWidestBar);
  return BarText(*memory, full, width, layout) + LegendText(*memory, limit, layout);
}

}  // namespace trainctl::client
