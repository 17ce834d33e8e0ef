#include "common/rank/reduction.h"
#include "server/compare/sections.h"

namespace trainctl::compare {

bool Amount::IsLessThan(const Amount& other) const {
  return rows > 0 && other.rows > 0 ? rows < other.rows : steps < other.steps;
}

Amount AmountOf(const Run& run) {
  const auto rows = job::Reduce(job::Metric::kSamples, run.metrics);
  return {job::StepsTrained(run.metrics), rows ? rows->value : 0};
}

}  // namespace trainctl::compare
