// What clients ask the coordinator to do.
#include <algorithm>
#include <utility>

#include "common/base/utf8.h"
#include "common/estimate/accept_job.h"
#include "common/job/job_json.h"
#include "common/job/trains.h"
#include "server/auth/permissions.h"
#include "server/coordinator/believed_time.h"
#include "server/coordinator/coordinator.h"
#include "server/coordinator/dependencies.h"
#include "server/coordinator/resumed_job.h"

namespace trainctl::coordinator {
namespace {

// What a submission is judged by.
struct Site {
  const core::State& state;
  const std::vector<job::SiteDevice>& devices;
  store::Reader& reader;
  const std::string& user;  // who submits
};

bool BuildsOnAnother(const core::Submission& submission) {
  return submission.spec.checkpoint.resume_from.has_value() ||
         !submission.spec.resources.after.empty() || !job::Trains(submission.spec);
}

// Why the site does not take the job; empty: it does. kIo.
base::Result<std::string> ProblemsOf(const core::Submission& submission, bool force,
                                     const Site& site) {
  const auto& [spec, inspection, prediction, is_auto] = submission;
  const bool is_ruled = !site.state.rules.empty();
  const auto left =
      is_ruled ? core::SiteOf(site.state, site.user, spec) : std::vector<job::SiteDevice>();
  const std::vector<job::SiteDevice>& devices = is_ruled ? left : site.devices;
  if (devices.empty() && !site.devices.empty())
    return spec.name + ": no worker of the site lets jobs of " + site.user + " run";
  auto earlier = FindResumedRun(site.reader, spec);
  if (!earlier) return earlier.error();
  auto accepted = job::AcceptJob(
      {.job = spec,
       .inspection = inspection,
       .devices = devices,
       .whole_site = is_ruled ? site.devices : std::vector<job::SiteDevice>(),
       .force = force,
       .claimant = {site.state.site, "", core::EndedJobs(site.state, spec, inspection)},
       .resumed = std::move(*earlier)});
  if (!accepted) return spec.name + ": " + accepted.error().message;
  const auto dependencies = CheckDependencies(site.state, site.reader, spec);
  if (!dependencies) return dependencies.error();
  accepted->problems.insert(accepted->problems.end(), dependencies->begin(), dependencies->end());
  if (std::string why = core::LeaseProblem(site.state, spec); !why.empty()) {
    accepted->problems.push_back(
        {.path = "resources.lease", .expected = "a lease for this job", .hint = std::move(why)});
  }
  return job::Format(accepted->problems, spec.name);
}

// Under a lease run its owner's jobs.
base::Status CheckLeases(const core::State& state, const core::JobsSubmitted& jobs,
                         const auth::Caller& caller) {
  for (const core::Submission& submission : jobs.jobs) {
    const std::optional<std::string>& name = submission.spec.resources.lease;
    const core::Lease* lease = name ? core::FindLease(state, *name) : nullptr;
    if (lease == nullptr) continue;  // said by the core
    const base::Status theirs =
        auth::CheckOwnerOf(caller, "Submit", "lease '" + *name + "'", lease->row.user);
    if (!theirs) return theirs;
  }
  return base::Ok{};
}

// All problems of all jobs with the site, their models and the jobs that they go on from; empty:
// none. kIo.
base::Result<std::string> SiteProblems(const core::JobsSubmitted& jobs, const Site& site) {
  std::string text;
  for (const core::Submission& submission : jobs.jobs) {
    const auto problems = ProblemsOf(submission, jobs.force, site);
    if (!problems) return problems.error();
    if (!text.empty() && !problems->empty()) text += '\n';
    text += *problems;
  }
  return text;
}

base::Error NoTarget(const std::string& name) {
  return {base::Code::kNotFound,
          "no worker or host '" + base::Excerpt(name, 256) + "'; trainctl workers lists them"};
}

// One line for people.
base::Status CheckReason(const std::string& reason) {
  if (reason.size() > Coordinator::kMaxDrainReason) {
    return base::Error{base::Code::kInvalid, "the reason has " + std::to_string(reason.size()) +
                                                 " bytes; at most " +
                                                 std::to_string(Coordinator::kMaxDrainReason)};
  }
  const bool is_line = std::ranges::none_of(
      reason, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; });
  if (is_line) return base::Ok{};
  return base::Error{base::Code::kInvalid, "the reason has control characters: it is one line"};
}

}  // namespace

const std::vector<job::SiteDevice>& Coordinator::Site() {
  if (site_) return *site_;
  site_ = core::Site(state_);
  return *site_;
}

void Coordinator::Submit(core::JobsSubmitted submission, const auth::Caller& caller,
                         SubmitAnswer answer) {
  const auto on_its_way = submissions_.find(submission.request_id);
  if (on_its_way != submissions_.end()) {
    const Submission& first = on_its_way->second;
    const base::Status theirs =
        auth::CheckOwner(caller, "Submit", first.jobs.front().spec.name, first.caller.name);
    if (!theirs) return answer(theirs.error());
    on_its_way->second.answers.push_back(std::move(answer));
    return;
  }
  const auto stored = parts_.reader.FindSubmission(submission.request_id);
  if (!stored) return answer(stored.error());
  if (*stored) return AnswerStored(**stored, caller, answer);

  Submission entry{submission.jobs, {}, caller, {}};
  if (Site().empty()) {
    entry.warnings.push_back(
        "no worker is registered, so nothing was checked against the site's devices; the job "
        "waits for them");
  }
  if (std::ranges::any_of(submission.jobs, BuildsOnAnother)) {  // which may just have ended
    Drain();
    Commit();
    for (const core::Submission& job : submission.jobs) {
      const base::Status theirs = CheckResumed(parts_.reader, job.spec.checkpoint, caller);
      if (!theirs) return answer(theirs.error());
      const base::Status read = CheckModelRead(parts_.reader, job.spec, caller);
      if (!read) return answer(read.error());
    }
  }
  for (const core::Submission& job : submission.jobs) {
    if (const base::Status stays = CheckStays(job.spec); !stays) return answer(stays.error());
  }
  const base::Status leases = CheckLeases(state_, submission, caller);
  if (!leases) return answer(leases.error());
  const auto problems = SiteProblems(submission, {state_, Site(), parts_.reader, caller.name});
  if (!problems) return answer(problems.error());
  if (!problems->empty()) return answer(base::Error{base::Code::kInvalid, *problems});
  for (core::Submission& job : submission.jobs) {
    const bool tells_time = job.inspection && job.prediction && job.prediction->time;
    RaiseToBelieved(&job, tells_time && known_inspections_.Has(job.spec, *job.inspection));
  }
  entry.answers.push_back(std::move(answer));
  submissions_[submission.request_id] = std::move(entry);
  Apply(std::move(submission));
}

void Coordinator::AnswerStored(const store::StoredSubmission& stored, const auth::Caller& caller,
                               const SubmitAnswer& answer) {
  if (stored.jobs.empty()) {
    return answer(base::Error{base::Code::kConflict,
                              "this was submitted before, and its jobs have been removed since"});
  }
  store::JobFilter filter;
  filter.jobs = stored.jobs;
  filter.limit = static_cast<int64_t>(stored.jobs.size());
  const auto jobs = parts_.reader.Jobs(filter);
  if (!jobs) return answer(jobs.error());
  std::map<base::JobId, std::string> names;
  for (const store::StoredJob& job : *jobs) {
    const base::Status theirs =
        auth::CheckOwner(caller, "Submit", base::ToString(job.row.id), job.row.user);
    if (!theirs) return answer(theirs.error());
    names[job.row.id] = job.row.spec.name;
  }
  Submitted submitted;
  submitted.group = stored.group;
  for (base::JobId id : stored.jobs) submitted.jobs.push_back({id, names[id]});
  answer(std::move(submitted));
}

void Coordinator::Perform(core::SubmitAccepted& accepted) {
  auto node = submissions_.extract(accepted.request_id);
  if (node.empty()) return;
  Submission& entry = node.mapped();
  Submitted submitted;
  submitted.group = accepted.group;
  for (size_t i = 0; i < accepted.jobs.size(); ++i)
    submitted.jobs.push_back({accepted.jobs[i], entry.jobs[i].spec.name});
  submitted.warnings = std::move(entry.warnings);
  for (const SubmitAnswer& answer : entry.answers) answer(submitted);
}

void Coordinator::Perform(core::SubmitRefused& refused) {
  auto node = submissions_.extract(refused.request_id);
  if (node.empty()) return;
  for (const SubmitAnswer& answer : node.mapped().answers) answer(refused.error);
}

void Coordinator::Cancel(const std::vector<base::JobId>& jobs, const auth::Caller& caller,
                         Answer answer) {
  if (jobs.empty()) return answer(base::Ok{});
  for (size_t i = 0; i < jobs.size(); ++i) {
    Audit(caller, "cancel", base::ToString(jobs[i]));
    const bool is_last = i + 1 == jobs.size();
    Apply(core::CancelRequested{jobs[i]}, is_last ? answer : Answer());
  }
}

base::Result<const core::Worker*> Coordinator::FindWorker(const std::string& name) const {
  const auto found = state_.workers.find(name);
  if (found != state_.workers.end()) return &found->second;
  return base::Error{base::Code::kNotFound,
                     "no worker '" + name.substr(0, 256) + "'; trainctl workers lists them"};
}

void Coordinator::Fence(const std::string& worker, const auth::Caller& caller, Answer answer) {
  const auto found = FindWorker(worker);
  if (!found) return answer(found.error());
  if (!(*found)->lost) {
    return answer(base::Error{
        base::Code::kConflict,
        "worker '" + worker + "' is " + std::string(Name(core::StateOf(state_, **found))) +
            ": only a LOST worker can be fenced; trainctl cancel ends a job"});
  }
  Audit(caller, "fence", worker);
  Apply(core::WorkerFenced{worker}, std::move(answer));
}

void Coordinator::RemoveWorker(const std::string& worker, const auth::Caller& caller,
                               Answer answer) {
  Drain();  // a worker that has just left is not connected any more
  const auto found = FindWorker(worker);
  if (!found) return answer(found.error());
  if (!core::MayBeRemoved(state_, **found)) {
    const std::optional<base::JobId> job = core::LiveJobOn(state_, **found);
    const std::string why =
        job ? "it holds a rank of " + base::ToString(*job) +
                  ": cancel that job, and fence the worker if it does not come back"
            : "it is connected: stop it on its host first";
    return answer(
        base::Error{base::Code::kConflict, "worker '" + worker + "' can't be removed: " + why});
  }
  Audit(caller, "remove", worker);
  parts_.log.Info("worker_removed", {{"worker", worker}});
  Apply(core::WorkerRemoved{worker}, std::move(answer));
}

void Coordinator::DrainDevices(const std::string& target, const std::string& reason,
                               const auth::Caller& caller, DrainAnswer answer) {
  if (!core::IsTarget(state_, target)) return answer(NoTarget(target));
  const base::Status line = CheckReason(reason);
  if (!line) return answer(line.error());
  Audit(caller, "drain", target);
  parts_.log.Info("drained", {{"target", target}, {"user", caller.name}, {"why", reason}});
  Apply(core::DevicesDrained{target, caller.name, reason},
        [this, target, answer = std::move(answer)](const base::Status& status) {
          if (!status) return answer(status.error());
          answer(core::JobsOn(state_, target));
        });
}

void Coordinator::UndrainDevices(const core::DevicesUndrained& wish, const auth::Caller& caller,
                                 UndrainAnswer answer) {
  Drain();  // what it ends is told of the state that it meets
  const std::string& target = wish.target;
  const auto worker = state_.workers.find(target);
  if (!core::IsTarget(state_, target) && !state_.drains.contains(target))
    return answer(NoTarget(target));
  if (worker != state_.workers.end()) {
    const core::DrainRow* drain = core::DrainOf(state_, worker->second.row);
    if (drain != nullptr && drain->target != target) {
      return answer(base::Error{base::Code::kConflict,
                                "host '" + drain->target +
                                    "' is drained as a whole: trainctl undrain " + drain->target +
                                    ", with --faults where its devices' faults are to end too"});
    }
  }
  Audit(caller, "undrain", target + (wish.faults ? " with faults" : ""));
  parts_.log.Info("undrained", {{"target", target}});
  Apply(wish, [what = core::WhatUndrainEnds(state_, wish),
               answer = std::move(answer)](const base::Status& status) {
    if (!status) return answer(status.error());
    answer(what);
  });
}

void Coordinator::Inspect(std::string job_json, std::string user, Inspections::Answer answer) {
  const auto remember = [this, job = job::FromJson(job_json), answer = std::move(answer)](
                            const base::Result<job::Inspection>& inspection) {
    if (job && inspection) known_inspections_.Add(*job, *inspection);
    answer(inspection);
  };
  inspections_.Ask({std::move(user), "", std::move(job_json)}, parts_.clock.Steady(), remember);
}

void Coordinator::RecordChange(const auth::Caller& caller, const std::string& action,
                               const std::string& subject, Answer stored) {
  Audit(caller, action, subject);
  committed_.push_back(std::move(stored));
  urgent_ = true;
  DrainSoon();
}

void Coordinator::RecordRefusal(const RefusedChange& refused) {
  const std::string actor = refused.caller.name.empty() ? "unknown" : refused.caller.name;
  if (!refusals_.Take(actor)) return;
  batch_.audit.push_back({parts_.clock.Wall(), actor, refused.change, refused.subject,
                          refused.caller.address, refused.verdict});
}

base::Result<std::vector<store::AuditRow>> Coordinator::ReadAudit(int64_t limit, int64_t before) {
  Drain();
  Commit();
  return parts_.reader.Audit(limit, before);
}

void Coordinator::ReadArtifact(const std::vector<std::string>& workers, const std::string& user,
                               job::ArtifactQuestion question, ArtifactReads::Answer answer) {
  artifact_reads_.Ask(workers_, workers, user, std::move(question), parts_.clock.Steady(),
                      std::move(answer));
}

}  // namespace trainctl::coordinator
