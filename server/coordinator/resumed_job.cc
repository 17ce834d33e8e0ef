#include "server/coordinator/resumed_job.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "common/job/hub_id.h"
#include "common/job/output_folder.h"
#include "common/job/trains.h"
#include "server/auth/permissions.h"

namespace trainctl::coordinator {
namespace {

constexpr std::string_view kRpc = "Submit";

// The owner's job is asked after even where another owner's has the folder since. key: of the path.
// also_around: nor may it be around a folder of theirs.
base::Status CheckFolder(store::Reader& reader, const std::string& key, const std::string& path,
                         bool also_around, const auth::Caller& caller) {
  if (!path.starts_with('/')) {
    return base::Error{base::Code::kInvalid,
                       key + ": '" + path.substr(0, 256) + "': expected an absolute path"};
  }
  const auto outputs = reader.OutputsOfOthers(caller.name);
  if (!outputs) return outputs.error();
  const std::string folder = job::NormalFolder(path);
  for (const store::JobOutput& output : *outputs) {
    const std::string theirs = job::NormalFolder(output.folder);
    if (!job::LiesIn(folder, theirs) && !(also_around && job::LiesIn(theirs, folder))) continue;
    base::Status allowed = auth::CheckOwner(caller, kRpc, base::ToString(output.job), output.user);
    if (!allowed)
      return base::Error{allowed.error().code,
                         key + ": " + path.substr(0, 256) + ": " + allowed.error().message};
  }
  return base::Ok{};
}

}  // namespace

base::Status CheckResumed(store::Reader& reader, const job::CheckpointSpec& checkpoint,
                          const auth::Caller& caller) {
  const auto id = checkpoint.resume_job ? base::ParseJobId(*checkpoint.resume_job) : std::nullopt;
  const auto& folder = checkpoint.resume_from;
  if (id) {
    const auto stored = reader.Jobs({.jobs = {*id}, .limit = 1});
    if (!stored) return stored.error();
    if (!stored->empty()) {
      const core::JobRow& job = stored->front().row;
      base::Status theirs = auth::CheckOwner(caller, kRpc, base::ToString(*id), job.user);
      if (!theirs) return theirs;
      const auto& own = job.spec.output.dir;
      if (folder && own && job::LiesIn(job::NormalFolder(*folder), job::NormalFolder(*own)))
        return base::Ok{};
    }
  }
  return folder ? CheckFolder(reader, "checkpoint.resume_from", *folder, true, caller)
                : base::Status(base::Ok{});
}

base::Status CheckModelRead(store::Reader& reader, const job::JobSpec& job,
                            const auth::Caller& caller) {
  if (job::Trains(job) || job::IsHubId(job.model.path)) return base::Ok{};
  return CheckFolder(reader, "model.path", job.model.path, false, caller);
}

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
