// How jobs that have ended are forgotten, and how what they have saved is removed with them.
#include <algorithm>
#include <utility>

#include "common/base/size.h"
#include "common/job/job_paths.h"
#include "common/job/output_folder.h"
#include "server/coordinator/coordinator.h"

namespace trainctl::coordinator {
namespace {

// The job's key that names something in this folder which a job writes; empty: none does.
std::string NamedIn(const std::string& folder, const job::JobSpec& spec) {
  for (const job::JobPath& named : job::PathsOf(spec)) {
    const bool is_written = !named.key.starts_with("data.") && !named.key.starts_with("eval.");
    if (is_written && job::LiesIn(job::NormalFolder(named.path), job::NormalFolder(folder)))
      return named.key;
  }
  return "";
}

// Ahead of anybody's look at the hosts.
base::Status CheckUnused(const core::State& state, const JobOutputs& outputs) {
  if (outputs.output_dir.empty()) return base::Ok{};
  for (const auto& [id, job] : state.jobs) {
    const std::string key = NamedIn(outputs.output_dir, job.row.spec);
    if (key.empty()) continue;
    return base::Error{base::Code::kConflict, base::ToString(id) + ", which has not ended, names " +
                                                  outputs.output_dir + " as its " + key +
                                                  ": nothing was removed"};
  }
  return base::Ok{};
}

}  // namespace

// First each host looks; where all may, each removes.
struct Coordinator::OutputRemoval {
  JobOutputs outputs;
  bool look_only = false;
  auth::Caller caller;
  OutputsAnswer answer;
  bool is_audited = false;
  size_t asked = 0;                    // hosts, those that look before those that remove
  std::vector<job::HostOutputs> told;  // by those that were asked last

  size_t hosts() const { return outputs.hosts.size(); }
  bool looks() const { return asked < hosts(); }
  bool is_done() const { return asked == (look_only ? 1 : 2) * hosts(); }
  const JobOutputs::Host& host() const { return outputs.hosts[asked % hosts()]; }
};

// What has gone: "j12: 8 files (123 B) were removed from /out".
std::string Coordinator::TextOf(const OutputRemoval& removal) {
  int64_t files = 0, bytes = 0;
  for (const job::HostOutputs& host : removal.told) {
    files += host.answer.files;
    bytes += host.answer.bytes;
  }
  return base::ToString(removal.outputs.job) + ": " + std::to_string(files) + " files (" +
         base::FormatBytes(bytes) + ") were removed from " + removal.outputs.output_dir;
}

base::Status Coordinator::CheckOver(const std::vector<base::JobId>& jobs) const {
  if (jobs.size() > kMaxRemoved) {
    return base::Error{base::Code::kInvalid, std::to_string(jobs.size()) +
                                                 " jobs: expected at most " +
                                                 std::to_string(kMaxRemoved) + " in one call"};
  }
  for (const base::JobId id : jobs) {
    const std::string job = base::ToString(id);
    if (state_.jobs.contains(id)) {
      return base::Error{
          base::Code::kConflict,
          job + " has not ended, and nothing was removed: trainctl cancel " + job + " ends it"};
    }
    if (!removing_.contains(id)) continue;
    return base::Error{base::Code::kConflict, job + " is being removed already, with its files"};
  }
  for (const auto& [id, job] : state_.jobs) {
    const auto& resumed = job.row.spec.checkpoint.resume_job;
    const auto earlier = resumed ? base::ParseJobId(*resumed) : std::nullopt;
    if (!earlier || std::ranges::find(jobs, *earlier) == jobs.end()) continue;
    return base::Error{base::Code::kConflict, base::ToString(id) +
                                                  ", which has not ended, goes on from " +
                                                  *resumed + ": nothing was removed"};
  }
  return base::Ok{};
}

base::Status Coordinator::CheckStays(const job::JobSpec& spec) const {
  for (const auto& [id, folder] : removing_) {
    const std::string key = NamedIn(folder, spec);
    if (key.empty()) continue;
    return base::Error{base::Code::kConflict, spec.name + ": " + key + ": what " +
                                                  base::ToString(id) + " has saved in " + folder +
                                                  " is being removed: try again in a moment"};
  }
  return base::Ok{};
}

void Coordinator::RemoveJobs(const std::vector<base::JobId>& jobs, const auth::Caller& caller,
                             Answer answer) {
  Drain();  // one may just have ended
  const base::Status over = CheckOver(jobs);
  if (!over) return answer(over.error());
  for (const base::JobId job : jobs) {
    Audit(caller, std::string(store::kRemovesJob), base::ToString(job));
    parts_.log.Info("removed", {{"job", base::ToString(job)}, {"user", caller.name}});
  }
  Apply(core::JobsRemoved{jobs}, [this, jobs, answer = std::move(answer)](base::Status status) {
    for (const base::JobId job : jobs) {
      if (!status) break;
      workers_.ForgetLogsOf(job);
      if (const base::Status removed = parts_.logs.Remove(job); !removed)
        SayLogsNotRemoved(job, removed.error());
    }
    answer(std::move(status));
  });
}

void Coordinator::RemoveOutputs(JobOutputs outputs, bool look_only, const auth::Caller& caller,
                                OutputsAnswer answer) {
  Drain();  // it may just have ended
  base::Status unused = CheckOver({outputs.job});
  if (unused) unused = CheckUnused(state_, outputs);
  if (!unused) return answer(unused.error());
  if (!look_only) removing_[outputs.job] = outputs.output_dir;
  AskNextHost(std::make_shared<OutputRemoval>(
      OutputRemoval{std::move(outputs), look_only, caller, std::move(answer)}));
}

void Coordinator::AskNextHost(const std::shared_ptr<OutputRemoval>& removal) {
  if (removal->is_done()) return FinishRemoval(removal);
  const JobOutputs& outputs = removal->outputs;
  if (removal->asked % removal->hosts() == 0) removal->told.clear();
  if (removal->asked == removal->hosts() && !std::exchange(removal->is_audited, true))
    return StoreRemoval(removal);
  job::RemovalQuestion question{.path = outputs.output_dir,
                                .site = state_.site,
                                .job = base::ToString(outputs.job),
                                .saved = outputs.saved,
                                .look_only = removal->looks(),
                                .owner = outputs.owner};
  output_removals_.Ask(workers_, removal->host().workers, removal->caller.name, std::move(question),
                       parts_.clock.Steady(),
                       [this, removal](base::Result<job::RemovalAnswer> told) {
                         if (!told) return FailRemoval(*removal, told.error());
                         removal->told.push_back({removal->host().name, std::move(*told)});
                         ++removal->asked;
                         AskNextHost(removal);
                       });
}

// Before the first file goes it is stored who removes it; what can't be stored removes nothing.
void Coordinator::StoreRemoval(const std::shared_ptr<OutputRemoval>& removal) {
  const JobOutputs& outputs = removal->outputs;
  Audit(removal->caller, "rm-outputs", base::ToString(outputs.job) + " " + outputs.output_dir);
  committed_.push_back([this, removal](const base::Status& stored) {
    if (stored) return AskNextHost(removal);
    removing_.erase(removal->outputs.job);
    removal->answer(base::Error{stored.error().code, base::ToString(removal->outputs.job) + ": " +
                                                         stored.error().message +
                                                         ": nothing was removed"});
  });
  Commit();
}

void Coordinator::FailRemoval(const OutputRemoval& removal, const base::Error& error) {
  const std::string job = base::ToString(removal.outputs.job);
  if (!removal.look_only) removing_.erase(removal.outputs.job);
  const std::string what = removal.looks()
                               ? "nothing was removed"
                               : "some of its files may be gone, and the job is kept; the same "
                                 "again removes the others";
  const bool waits = error.code == base::Code::kExhausted;
  removal.answer(
      base::Error{waits ? error.code : base::Code::kConflict,
                  job + ": on host " + removal.host().name + ": " + error.message + ": " + what});
}

void Coordinator::FinishRemoval(const std::shared_ptr<OutputRemoval>& removal) {
  if (removal->look_only) return removal->answer(std::move(removal->told));
  removing_.erase(removal->outputs.job);
  RemoveJobs({removal->outputs.job}, removal->caller, [removal](const base::Status& removed) {
    if (!removed) {
      return removal->answer(base::Error{
          removed.error().code, TextOf(*removal) +
                                    ", but the job is kept, as its end can't be stored: " +
                                    removed.error().message + ": the same again forgets it"});
    }
    removal->answer(std::move(removal->told));
  });
}

}  // namespace trainctl::coordinator
