#include "server/coordinator/coordinator.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "server/core/leases.h"

namespace trainctl::coordinator {
namespace {

// Nobody is waiting for it: its rows may wait for company.
bool MayWait(const core::Effect& effect) {
  return std::holds_alternative<core::AckReport>(effect) ||
         std::holds_alternative<core::JobChanged>(effect) ||
         std::holds_alternative<core::FaultIsNews>(effect);
}

void LogEvents(const std::vector<core::Persist>& rows, EventLog& log) {
  for (const core::Persist& row : rows) {
    const auto* event = std::get_if<core::EventRow>(&row);
    if (event != nullptr)
      log.Info("job", {{"job", base::ToString(event->job)}, {"text", event->text}});
  }
}

}  // namespace

base::Status Coordinator::Start() {
  const base::Status loaded = Load();
  if (!loaded) return loaded;
  LookAtClock();
  FindLogsOfRemovedJobs();
  parts_.loop.Every(kFlushPeriod, [this] { OnFlush(); });
  parts_.loop.Every(kTickPeriod, [this] { OnTick(); });
  return base::Ok{};
}

void Coordinator::Finish() {
  Drain();
  Commit();
  workers_.SendLogAcks();
  EndWorkers("the coordinator is stopping");
}

// Who waits for a worker's answer is told too: no worker that has ended answers.
void Coordinator::EndWorkers(const std::string& why) {
  workers_.EndAll({base::Code::kUnavailable, why});
  inspections_.FailAll(why + ": try again in a moment");
  artifact_reads_.FailAll(why + ": try again in a moment");
  output_removals_.FailAll(why + ": try again in a moment");
}

void Coordinator::EndLoan() {
  const base::WallMicros now = parts_.clock.Wall();
  std::optional<base::WallMicros>& lent_until = parts_.options.lent_until;
  lent_until = std::min(lent_until.value_or(now), now);
  state_.options.lent_until = lent_until;
  OnTick();
}

base::Status Coordinator::Load() {
  auto stored = parts_.store.LoadState();
  if (!stored) return stored.error();
  if (const std::optional<int64_t>& half_life = parts_.options.policy.half_life_us) {
    auto use = parts_.reader.UseSince(core::UseCountsFrom(*half_life, parts_.clock.Wall()));
    if (!use) return use.error();
    stored->use = std::move(*use);
  }
  if (const base::Status skipped = SkipJobsWithLogs(&*stored); !skipped) return skipped;
  state_ = core::Restore(parts_.options, std::move(*stored), Now());
  site_.reset();
  stale_ = false;
  parts_.log.Info("loaded", {{"unfinished_jobs", std::to_string(state_.jobs.size())},
                             {"workers", std::to_string(state_.workers.size())}});
  return base::Ok{};
}

// The disk lost these jobs, or an older database lies here: their logs are not another job's.
base::Status Coordinator::SkipJobsWithLogs(core::StoredState* stored) const {
  const base::Result<base::JobId> last = parts_.logs.LastJob();
  if (!last) return last.error();
  if (last->value < stored->next_job) return base::Ok{};
  const base::JobId first{stored->next_job};
  parts_.log.Warning("unknown_jobs_have_logs",
                     {{"first", base::ToString(first)}, {"last", base::ToString(*last)}});
  stored->gaps.push_back({first.value, last->value});
  stored->next_job = last->value + 1;
  return base::Ok{};
}

void Coordinator::Apply(core::Event event, Answer committed) {
  queue_.push_back({std::move(event), std::move(committed)});
  DrainSoon();
}

void Coordinator::DrainSoon() {
  if (std::exchange(drain_posted_, true)) return;
  parts_.loop.Post([this] { Drain(); });
}

void Coordinator::Drain() {
  drain_posted_ = false;
  if (stale_) {
    const base::Status loaded = Load();
    if (!loaded) return Fail(loaded.error());
  }
  for (Queued& queued : std::exchange(queue_, {})) {
    if (queued.committed) {
      committed_.push_back(std::move(queued.committed));
      urgent_ = true;
    }
    Hold(parts_.step(state_, queued.event, Now()));
  }
  if (urgent_ || held_rows_ >= kMaxHeldRows) Commit();
}

void Coordinator::Hold(core::Actions actions) {
  for (core::Persist& row : actions.persist) {
    const auto* points = std::get_if<core::MetricRows>(&row);
    held_rows_ += points == nullptr ? 1 : points->points.size();
    if (std::holds_alternative<core::WorkerRow>(row) ||
        std::holds_alternative<core::RemoveWorker>(row))
      site_.reset();
    batch_.rows.push_back(std::move(row));
  }
  for (core::Effect& effect : actions.effects) {
    urgent_ = urgent_ || !MayWait(effect);
    if (const auto* accepted = std::get_if<core::SubmitAccepted>(&effect))
      AuditSubmitted(*accepted);
    effects_.push_back(std::move(effect));
  }
}

void Coordinator::Commit() {
  if (!batch_.empty()) {
    const base::Status stored = parts_.store.Apply(batch_);
    if (!stored) return Fail(stored.error());
    LogEvents(batch_.rows, parts_.log);
    NoteEnds();
    store_trouble_.clear();
  }
  batch_ = {};
  held_rows_ = 0;
  urgent_ = false;
  for (core::Effect& effect : std::exchange(effects_, {})) Perform(effect);
  for (const Answer& committed : std::exchange(committed_, {})) committed(base::Ok{});
}

void Coordinator::NoteEnds() {
  for (const core::Persist& row : batch_.rows) {
    const auto* update = std::get_if<core::UpdateJob>(&row);
    if (update != nullptr && update->status.state == job::JobState::kFinished)
      ends_.Add(update->job, update->status);
  }
}

void Coordinator::Fail(const base::Error& error) {
  parts_.log.Error("not_stored", {{"error", error.message}});
  store_trouble_ = error.message;
  const bool was_stale = std::exchange(stale_, true);
  batch_ = {};
  effects_.clear();
  held_rows_ = 0;
  urgent_ = false;
  old_logs_.clear();  // of none of them is it known whether it is marked
  logs_looked_at_ = {};
  looks_for_logs_next_ = parts_.clock.Steady() + kThinningRestMicros;
  for (Queued& queued : std::exchange(queue_, {})) {
    if (queued.committed) committed_.push_back(std::move(queued.committed));
  }
  // Nobody sees what was not stored. Where the store can't be read either, the next event loads.
  stale_ = was_stale || !Load();
  for (const Answer& committed : std::exchange(committed_, {})) committed(error);
  for (const auto& [request_id, submission] : std::exchange(submissions_, {})) {
    for (const SubmitAnswer& answer : submission.answers) answer(error);
  }
  EndWorkers("the coordinator can't store what it hears: " + error.message);
}

void Coordinator::OnFlush() {
  Drain();
  Commit();
  workers_.SendLogAcks();
  job_changes_.Flush();
  log_changes_.Flush();
}

// Leases, retention and fair share go by the clock. What counts time alone does not.
void Coordinator::LookAtClock() {
  const core::Now now = Now();
  const std::optional<int64_t> moved = clock_watch_.Look(now.wall, now.steady);
  if (!moved) return;
  parts_.log.Warning("clock_was_set", {{"seconds", std::to_string(*moved / 1'000'000)},
                                       {"it_is", core::UtcText(now.wall)}});
}

void Coordinator::OnTick() {
  LookAtClock();
  const base::Status in_place = CheckStore();
  if (!in_place && store_trouble_.empty()) Fail(in_place.error());
  const base::SteadyMicros now = parts_.clock.Steady();
  for (const WorkerSessions::Silent& silent : workers_.EndSilent(now - kSilentMicros)) {
    parts_.log.Warning("worker_silent", {{"worker", silent.worker}});
    inspections_.OnWorkerLeft(silent.worker, now);
    artifact_reads_.OnWorkerLeft(silent.worker);
    output_removals_.OnWorkerLeft(silent.worker);
    Apply(core::WorkerStreamLost{silent.worker, silent.last_heard});
  }
  AskForStalledLogs();
  inspections_.OnTick(now);
  artifact_reads_.OnTick(now);
  output_removals_.OnTick(now);
  for (const auto& [actor, calls] : refusals_.OnTick(now)) {
    const std::string verdict = "refused: " + std::to_string(calls) + " calls more";
    batch_.audit.push_back({parts_.clock.Wall(), actor, "several", "", "", verdict});
  }
  Apply(core::Tick{});
  ThinPoints();
  RemoveOldLogs();
}

// A piece a second. Nothing depends on it: a disk that refuses is asked again later.
void Coordinator::ThinPoints() {
  const core::Now now = Now();
  if (!parts_.options.policy.points_after_us || now.steady < thins_next_) return;
  const auto piece =
      parts_.store.ThinPoints({now.wall - *parts_.options.policy.points_after_us, now.wall});
  if (!piece) parts_.log.Warning("points_not_thinned", {{"error", piece.error().message}});
  if (!piece || !piece->more) thins_next_ = now.steady + kThinningRestMicros;
  if (!piece) return;
  for (const base::JobId id : piece->thinned) {
    const std::string job = base::ToString(id);
    parts_.log.Info("points_thinned", {{"job", job}});
    batch_.audit.push_back({now.wall, "this site's policy", "thin", job});
  }
}

void Coordinator::FindLogsOfRemovedJobs() {
  const auto with_logs = parts_.logs.Jobs();
  const auto removed = with_logs ? parts_.reader.RemovedAmong(*with_logs) : with_logs.error();
  if (!removed)
    return parts_.log.Warning("old_logs_not_found", {{"error", removed.error().message}});
  marked_logs_.assign(removed->begin(), removed->end());
}

bool Coordinator::FindOldLogs() {
  const base::WallMicros ended_before = parts_.clock.Wall() - *parts_.options.policy.logs_after_us;
  const auto found = parts_.reader.JobsWithOldLogs(ended_before, logs_looked_at_);
  if (!found) parts_.log.Warning("old_logs_not_found", {{"error", found.error().message}});
  if (!found || !found->more) {
    logs_looked_at_ = {};
    return false;
  }
  logs_looked_at_ = found->last;
  old_logs_.assign(found->jobs.begin(), found->jobs.end());
  std::ranges::copy_if(found->marked, std::back_inserter(marked_logs_), [this](base::JobId id) {
    const base::Result<bool> any = parts_.logs.Has(id);
    return !any || *any;
  });
  return true;
}

// Where nobody can say whether there are some, it is for the next look.
void Coordinator::MarkLogs(base::JobId id) {
  const base::WallMicros now = parts_.clock.Wall();
  const base::Result<bool> any = parts_.logs.Has(id);
  if (!any) return SayLogsNotRemoved(id, any.error());
  batch_.logs_removed.push_back({id, now, *any});
  if (!*any) return;
  batch_.audit.push_back({now, "this site's policy", "remove logs", base::ToString(id)});
  committed_.push_back([this, id](const base::Status& stored) {
    if (!stored) return;
    workers_.ForgetLogsOf(id);  // what comes late is not kept
    marked_logs_.push_back(id);
  });
}

void Coordinator::SayLogsNotRemoved(base::JobId id, const base::Error& error) {
  parts_.log.Warning("logs_not_removed", {{"job", base::ToString(id)}, {"error", error.message}});
}

// What can't be removed is tried again at the next look.
void Coordinator::RemoveMarkedLogs() {
  for (int64_t turns = kLogRemovalsATick; turns > 0 && !marked_logs_.empty(); --turns) {
    const base::JobId id = marked_logs_.front();
    const std::string job = base::ToString(id);
    const auto removal = parts_.logs.RemoveSome(id, kLogFilesAtOnce);
    if (removal && *removal == LogFiles::Removal::kLeft) return;
    marked_logs_.pop_front();
    if (!removal) {
      SayLogsNotRemoved(id, removal.error());
    } else if (*removal == LogFiles::Removal::kDone) {
      parts_.log.Info("logs_removed", {{"job", job}});
    }
  }
}

void Coordinator::RemoveOldLogs() {
  const base::SteadyMicros now = parts_.clock.Steady();
  const bool is_stored = batch_.logs_removed.empty();  // what was marked before
  if (!is_stored) return;
  RemoveMarkedLogs();
  const bool looks = parts_.options.policy.logs_after_us && now >= looks_for_logs_next_;
  if (!looks || !marked_logs_.empty()) return;
  if (old_logs_.empty() && !FindOldLogs()) looks_for_logs_next_ = now + kThinningRestMicros;
  for (int64_t turns = kLogRemovalsATick; turns > 0 && !old_logs_.empty(); --turns) {
    MarkLogs(old_logs_.front());
    old_logs_.pop_front();
  }
}

void Coordinator::AuditSubmitted(const core::SubmitAccepted& accepted) {
  const Submission& submission = submissions_[accepted.request_id];
  for (size_t i = 0; i < accepted.jobs.size(); ++i) {
    const auto& earlier = submission.jobs[i].spec.checkpoint.resume_job;
    const std::string job = base::ToString(accepted.jobs[i]);
    Audit(submission.caller, earlier ? "resume" : "submit",
          earlier ? job + " from " + *earlier : job);
  }
}

void Coordinator::Audit(const auth::Caller& actor, const std::string& action,
                        const std::string& subject) {
  batch_.audit.push_back({parts_.clock.Wall(), actor.name, action, subject, actor.address});
}

void Coordinator::Perform(core::Effect& effect) {
  std::visit([this](auto& concrete) { Perform(concrete); }, effect);
}

// What goes to a worker as it is.
template <class Command>
void Coordinator::Perform(Command& command) {
  const std::string worker = command.worker;
  workers_.Send(worker, std::move(command));
}

void Coordinator::Perform(core::Welcome& welcome) {
  WorkerSessions::Session* session = workers_.Find(welcome.worker);
  if (session == nullptr) return;
  WelcomeWorker command{std::move(welcome.acks), {}};
  for (const job::RankKey& key : session->held) {
    const base::Result<int64_t> stored = parts_.logs.End(key);
    if (stored)
      command.logs.push_back({key, *stored});
    else
      StallLog(*session, key, stored.error());
  }
  session->channel->Send(command);
}

void Coordinator::Perform(core::JobChanged& changed) { job_changes_.Mark(changed.job); }

}  // namespace trainctl::coordinator
