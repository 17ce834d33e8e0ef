// The ways in which the summaries of one metric, of a gang or of its ranks and phases, become the
// one value of a run. All give no value for no summaries. Inside this room only.
#pragma once

#include <vector>

#include "server/compare/compare.h"

namespace trainctl::compare {

using Summaries = std::vector<const MetricSummary*>;

Value Latest(const Summaries& summaries);  // the gang's own; where only ranks said it, the worst
Value LatestIfAny(const Summaries& summaries);  // no value for zero: of what most jobs do not do
Value StepSeconds(
    const Summaries& summaries);  // the steady state's median, else the mean; the slowest rank's
Value Rate(const Summaries& summaries);          // the gang's mean rate, or the sum of its ranks'
Value WorstBytes(const Summaries& summaries);    // the worst rank, noting the spread
Value LargestPhase(const Summaries& summaries);  // the largest of any rank and phase, noting the
                                                 // phase unless all are equal
Value LargestPhaseIfAny(const Summaries& summaries);  // no value for zero
Value MeanOverDevices(const Summaries& summaries);  // noting each device's own, as nvtop shows them
Value GrowthOverDevices(const Summaries& summaries);  // what counters grew, summed

}  // namespace trainctl::compare
