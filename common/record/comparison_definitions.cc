#include "common/record/comparison_definitions.h"

#include <algorithm>
#include <string_view>

#include "common/wire/comparison_doubt.h"

namespace trainctl::record {
namespace {

struct Definition {
  std::string_view section;  // "": of all that are compared with the base
  std::string_view line;
};

constexpr Definition kDefinitions[] = {
    {"",
     "* best of the runs that succeeded; percentages are against the base, the first column of "
     "values."},
    {"time",
     "time: the training loop from the first step to the end of the last, without load, evaluation "
     "and checkpoints."},
    {"time",
     "tokens/s counts positions up to the longest row of each micro batch; trained tokens/s only "
     "those that count in the loss."},
    {"time",
     "samples/s and tokens/s: all of the run over its time. seconds per step: the median, without "
     "the first step."},
    {"time",
     "speed-up: samples/s over the base's, of runs whose rates are comparable; scaling efficiency: "
     "that over added devices, of runs that differ in devices and strategy alone."},
    {"memory",
     "memory: the worst rank's. Each kind is at the phase of a step where it was largest; the peak "
     "may lie between phases, so the kinds need not add up to it."},
};

}  // namespace

std::vector<std::string> DefinitionsOf(const v1::CompareResponse& response) {
  std::vector<std::string> lines;
  for (const Definition& definition : kDefinitions) {
    const auto is_of_it = [&definition](const v1::CompareRow& row) {
      return definition.section.empty() ? wire::IsCompared(row)
                                        : row.section() == definition.section;
    };
    if (std::ranges::any_of(response.rows(), is_of_it)) lines.emplace_back(definition.line);
  }
  return lines;
}

}  // namespace trainctl::record
