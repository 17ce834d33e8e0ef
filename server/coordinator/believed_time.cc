#include "server/coordinator/believed_time.h"

#include <optional>

namespace trainctl::coordinator {
namespace {

// Of our own prediction, where theirs is from so many runs.
double Share(int64_t runs) { return runs > 0 ? 0.25 : 1; }

}  // namespace

void RaiseToBelieved(core::Submission* submission, bool is_inspection_known) {
  if (!submission->prediction || !submission->prediction->time) return;
  job::TimeEstimate& told = *submission->prediction->time;
  told.claimed = true;
  told.believed_seconds.reset();
  if (!submission->inspection) return;
  const std::optional<job::TimeEstimate> own =
      job::EstimateTime(submission->spec, *submission->inspection, told.device_name,
                        submission->prediction->memory.holds_gradients.value_or(false));
  if (!own) return;
  told.claimed = !is_inspection_known;
  const double start = own->start_seconds + own->load_seconds, run = own->total_seconds - start;
  const double least = start * Share(told.start_runs) + run * Share(told.earlier_runs);
  if (!(told.total_seconds >= least)) told.believed_seconds = least;
}

}  // namespace trainctl::coordinator
