#include "client/show/memory_bar.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

#include "common/base/size.h"
#include "common/job/job_json.h"
#include "common/record/memory_record.h"

namespace trainctl::client {
namespace {

struct Part {
  std::string_view kind;   // of record::MemoryRow
  std::string_view label;  //
  const char* drawn;
  const char* ascii;
};
constexpr Part kParts[] = {{"params", "params", "█", "P"},
                           {"grads", "grads", "▓", "G"},
                           {"optimizer", "optimizer", "▒", "O"},
                           {"other", "other", "░", "x"}};
constexpr int kNarrowestBar = 10, kWidestBar = 40;

using Sizes = std::array<int64_t, std::size(kParts)>;

struct Measured {
  std::string phase;
  Sizes parts{};
  int64_t whole = 0;
  int64_t predicted_peak = 0;  // 0: not known
};

// At the phase at which the parts are most together.
std::optional<Measured> MostOf(const v1::JobDetail& detail) {
  std::map<std::string, Measured> phases;
  int64_t predicted_peak = 0;
  for (const record::MemoryRow& row : record::MemoryRows(detail)) {
    if (row.kind == "peak_allocated")
      predicted_peak = std::max(predicted_peak, row.predicted.value_or(0));
    const auto* const part = std::ranges::find(kParts, row.kind, &Part::kind);
    if (part == std::end(kParts) || !row.measured) continue;
    Measured& at = phases[row.phase];
    at.phase = row.phase;
    at.parts[static_cast<size_t>(part - kParts)] = *row.measured;
    at.whole += *row.measured;
  }
  if (phases.empty()) return std::nullopt;
  Measured most = std::ranges::max_element(phases, {}, [](const auto& phase) {
                    return phase.second.whole;
                  })->second;
  most.predicted_peak = predicted_peak;
  return most;
}

// 0: there is none that is known.
int64_t LimitOf(const v1::JobDetail& detail, int64_t device_bytes) {
  const base::Result<job::JobSpec> job = job::FromJson(detail.job_json());
  const int64_t asked = job.ok() ? job->resources.gpu_memory_limit_bytes.value_or(0) : 0;
  if (asked == 0 || device_bytes == 0) return std::max(asked, device_bytes);
  return std::min(asked, device_bytes);
}

std::string BarText(const Measured& memory, int64_t full, int width, const BarLayout& layout) {
  const auto cell_of = [&](int64_t bytes) {
    const double share = static_cast<double>(bytes) / static_cast<double>(full);
    return std::min(width, static_cast<int>(std::lround(share * width)));
  };
  const int mark = memory.predicted_peak > 0 ? std::max(0, cell_of(memory.predicted_peak) - 1) : -1;
  std::string bar = "[";
  int64_t below = 0;
  size_t part = 0;
  for (int cell = 0; cell < width; ++cell) {
    while (part < std::size(kParts) && cell >= cell_of(below + memory.parts[part]))
      below += memory.parts[part++];
    if (cell == mark) {
      bar += "|";
    } else if (part == std::size(kParts)) {
      bar += layout.unicode ? " " : ".";
    } else {
      bar += layout.unicode ? kParts[part].drawn : kParts[part].ascii;
    }
  }
  return bar + "]";
}

// "█ params 2.10 GiB ▓ grads …"
std::string LegendText(const Measured& memory, int64_t limit, const BarLayout& layout) {
  std::string text;
  for (size_t i = 0; i < std::size(kParts); ++i) {
    text += " " + std::string(layout.unicode ? kParts[i].drawn : kParts[i].ascii) + " " +
            std::string(kParts[i].label) + " " + base::FormatBytes(memory.parts[i]);
  }
  if (limit > 0) text += " of " + base::FormatBytes(limit);
  if (memory.predicted_peak > 0)
    text += ", | predicted " + base::FormatBytes(memory.predicted_peak);
  return text;
}

}  // namespace

std::string MemoryBar(const v1::JobDetail& detail, int64_t device_bytes, const BarLayout& layout) {
  const std::optional<Measured> memory = MostOf(detail);
  if (!memory || memory->whole <= 0) return "";
  const int64_t limit = LimitOf(detail, device_bytes);
  const int64_t full = std::max({limit, memory->whole, memory->predicted_peak});
  const int width =
      layout.columns <= 0 ? kWidestBar : std::clamp(layout.columns / 4, kNarrowestBar, kWidestBar);
  return BarText(*memory, full, width, layout) + LegendText(*memory, limit, layout);
}

}  // namespace trainctl::client
