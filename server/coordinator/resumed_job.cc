#include "server/coordinator/resumed_job.h"

#include <algorithm>

namespace trainctl::coordinator {

base::Result<std::optional<job::ResumedRun>> FindResumedRun(store::Reader& reader,
                                                            const job::JobSpec& job) {
  const std::optional<base::JobId> id =
      job.checkpoint.resume_job ? base::ParseJobId(*job.checkpoint.resume_job) : std::nullopt;
  if (!id) return std::optional<job::ResumedRun>();
  const auto stored = reader.Jobs({.jobs = {*id}, .limit = 1});
  if (!stored) return stored.error();
  if (stored->empty() || !stored->front().status.end || stored->front().row.unreadable)
    return std::optional<job::ResumedRun>();
  const auto artefacts = reader.Artefacts(*id);
  if (!artefacts) return artefacts.error();
  const store::StoredJob& earlier = stored->front();
  return std::optional(
      job::ResumedRun{.id = base::ToString(*id),
                      .spec = earlier.row.spec,
                      .succeeded = earlier.status.end->outcome == job::Outcome::kSucceeded,
                      .has_model = std::ranges::any_of(
                          *artefacts, [](const auto& row) { return job::IsModel(row.saved.kind); }),
                      .step = earlier.status.progress.step,
                      .steps = earlier.status.progress.steps});
}

}  // namespace trainctl::coordinator
