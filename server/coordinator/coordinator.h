// The shell around the scheduler's pure core, on one thread: events go in, rows are committed, then
// effects are performed.
//
// Group commit. Events that wait in the loop's queue together share one transaction. Rows that
// nobody waits for (progress, metrics, acknowledgements) are held for up to kFlushPeriod or
// kMaxHeldRows. So a busy site costs a few transactions a second. Whatever else happens takes the
// held rows along, in order. Nothing is answered, acknowledged or sent to a worker before its rows
// are on the disk.
//
// If the disk refuses a commit, everybody who waits is told so. The state is loaded again from what
// is stored, and the workers' streams are ended. The workers come back and say again what was not
// acknowledged. Nothing is accepted that was not stored. Nobody needs to restart the coordinator
// when the disk has space again.
//
// Not thread-safe: every method runs on the loop's thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/clock.h"
#include "common/base/result.h"
#include "common/job/site.h"
#include "server/auth/caller.h"
#include "server/coordinator/artifact_reads.h"
#include "server/coordinator/change_feed.h"
#include "server/coordinator/clock_watch.h"
#include "server/coordinator/event_log.h"
#include "server/coordinator/inspections.h"
#include "server/coordinator/job_outputs.h"
#include "server/coordinator/known_inspections.h"
#include "server/coordinator/log_files.h"
#include "server/coordinator/loop.h"
#include "server/coordinator/newest_streams.h"
#include "server/coordinator/output_removals.h"
#include "server/coordinator/read_queue.h"
#include "server/coordinator/recent_ends.h"
#include "server/coordinator/recent_loads.h"
#include "server/coordinator/refusal_budget.h"
#include "server/coordinator/worker_channel.h"
#include "server/coordinator/worker_sessions.h"
#include "server/core/drain.h"
#include "server/core/lease_wish.h"
#include "server/core/queued_jobs.h"
#include "server/core/step.h"
#include "server/store/reader.h"
#include "server/store/store.h"

namespace trainctl::coordinator {

// What a worker tells of a rank's output.
struct LogPiece {
  job::RankKey key;
  int64_t offset = 0;  // of its first byte in the rank's whole output
  int64_t after = 0;   // what was told before ends here (LogFiles::Append)
  std::string_view data;
};

struct Submitted {
  base::GroupId group;  // 0: a single job
  struct Job {
    base::JobId id;
    std::string name;
  };
  std::vector<Job> jobs;
  std::vector<std::string> warnings;
};

// A change that somebody asked for in vain.
struct RefusedChange {
  auth::Caller caller;  // as far as known
  std::string change;   // "cancel"
  std::string subject;  // "j12"
  std::string verdict;  // why
};

class Coordinator {
 public:
  static constexpr std::chrono::milliseconds kFlushPeriod{200};
  static constexpr std::chrono::milliseconds kTickPeriod{1000};
  // Between two looks for points that may go, where there was nothing to do.
  static constexpr base::SteadyMicros kThinningRestMicros = 3'600'000'000;
  // Retention of logs: in a second so many jobs, and of each so many files.
  static constexpr int64_t kLogRemovalsATick = 8;
  static constexpr int64_t kLogFilesAtOnce = 16;
  static constexpr size_t kMaxHeldRows = 1000;  // a metric point is one
  // A stream is silent if nothing came for this long, with heartbeats every 2 s. Below the core's
  // lost_after.
  static constexpr int64_t kSilentMicros = 10'000'000;

  // What it works with; all outlive it. The reader is the loop's own.
  struct Parts {
    Loop& loop;
    const base::Clock& clock;
    store::Store& store;
    store::Reader& reader;
    ReadQueue& reads;
    LogFiles& logs;
    EventLog& log;
    core::Options options = {};
    // The scheduler: who wants to see each of its steps passes it on.
    std::function<core::Actions(core::State&, const core::Event&, const core::Now&)> step =
        core::Step;
  };
  explicit Coordinator(const Parts& parts) : parts_(parts) {}

  // Loads the state; then the loop's timers drive it. Before the loop starts. Errors as the
  // store's.
  base::Status Start();
  // Commits what is held back, ends the workers' streams and answers who waits for a worker. Jobs
  // go on; clients are still answered.
  void Finish();
  // Devices that are lent to the site go back now: jobs are stopped with the time to save, and wait
  // for the next ones. `state().live` is empty when all have.
  void EndLoan();

  // ---- clients ----

  using SubmitAnswer = std::function<void(base::Result<Submitted>)>;
  // kInvalid: the site can't run these jobs, all problems listed. kExhausted: the queue, or the
  // disk, is full. kIo. The same request_id again, also after a restart, gets the first one's jobs.
  // kDenied: that one is another user's, or the job goes on from another user's.
  void Submit(core::JobsSubmitted submission, const auth::Caller& caller, SubmitAnswer answer);

  using Answer = std::function<void(base::Status)>;
  // Of jobs that have ended: nothing happens, and that succeeds.
  void Cancel(const std::vector<base::JobId>& jobs, const auth::Caller& caller, Answer answer);

  // Forgets jobs that have ended, and their logs. kInvalid: more than kMaxRemoved. kConflict: one
  // has not ended, or one that has not goes on from it; then nothing is forgotten.
  static constexpr size_t kMaxRemoved = 100;
  void RemoveJobs(const std::vector<base::JobId>& jobs, const auth::Caller& caller, Answer answer);

  // coordinator_outputs.cc. The same of one job, with what it has saved in its output.dir: on all
  // hosts that it ran on, or on none. look_only: nothing is removed, it is told what would be.
  // kConflict also: a host refuses, no worker of it answers, or a job that has not ended names
  // something there. kExhausted.
  using OutputsAnswer = std::function<void(base::Result<std::vector<job::HostOutputs>>)>;
  void RemoveOutputs(JobOutputs outputs, bool look_only, const auth::Caller& caller,
                     OutputsAnswer answer);

  // An operator vouches that nothing runs on the LOST worker's host any more. kNotFound; kConflict:
  // it is not LOST.
  void Fence(const std::string& worker, const auth::Caller& caller, Answer answer);

  // `user`: who asks.
  void Inspect(std::string job_json, std::string user, Inspections::Answer answer);

  // Takes a worker that does not come back out of the inventory. kNotFound; kConflict: it is
  // connected, or holds an attempt.
  void RemoveWorker(const std::string& worker, const auth::Caller& caller, Answer answer);

  // Nothing new is placed on the worker's device, or on the host's. kNotFound: none is called so.
  // kInvalid: a reason of more than kMaxDrainReason bytes, or of several lines. Answered with the
  // jobs that still run there.
  static constexpr size_t kMaxDrainReason = 1000;
  using DrainAnswer = std::function<void(base::Result<std::vector<base::JobId>>)>;
  void DrainDevices(const std::string& target, const std::string& reason,
                    const auth::Caller& caller, DrainAnswer answer);

  // Of what is not drained nothing changes, and that succeeds. kNotFound; kConflict: the worker's
  // host is drained.
  using UndrainAnswer = std::function<void(base::Result<core::Undrained>)>;
  void UndrainDevices(const core::DevicesUndrained& wish, const auth::Caller& caller,
                      UndrainAnswer answer);

  // coordinator_leases.cc. Errors as lease_wish.h's. The same request_id again gets the first one's
  // lease, until that is over.
  using LeaseAnswer = std::function<void(base::Result<core::LeaseRow>)>;
  struct NewLeaseRequest {
    std::string request_id;
    std::string name;  // empty: the coordinator gives one
    core::LeaseWish wish;
  };
  void CreateLease(const NewLeaseRequest& request, const auth::Caller& caller, LeaseAnswer answer);
  base::Result<core::LeaseBlock> FindLeaseBlock(const core::LeaseWish& wish);
  // kNotFound; kDenied: it is another user's. Answered with the lease as it was, of ExtendLease as
  // it is then.
  void ExtendLease(const std::string& name, const core::LeaseExtension& asked,
                   const auth::Caller& caller, LeaseAnswer answer);
  void DeleteLease(const std::string& name, const auth::Caller& caller, LeaseAnswer answer);

  // `workers`: of the host that has it. `user`: who asks.
  void ReadArtifact(const std::vector<std::string>& workers, const std::string& user,
                    job::ArtifactQuestion question, ArtifactReads::Answer answer);

  // As Store::CheckInPlace. It is looked at each second as well, as if something were to be stored.
  base::Status CheckStore() { return parts_.store.CheckInPlace(); }

  // For the audit log: a change that is not the coordinator's own. Before it is answered that this
  // is stored, it is not made, or nobody is told what makes it useful.
  void RecordChange(const auth::Caller& caller, const std::string& action,
                    const std::string& subject, Answer stored);
  // For the audit log; of one caller's a bounded number (RefusalBudget).
  void RecordRefusal(const RefusedChange& refused);
  // The audit log, newest first, of those before that id; 0: the newest. kIo.
  base::Result<std::vector<store::AuditRow>> ReadAudit(int64_t limit, int64_t before);

  // ---- workers ----

  // While another process's stream of that name is there, this one is ended with kConflict.
  void WorkerJoined(WorkerChannel& channel, core::WorkerHello hello);
  // `worker` is the name of this stream's Hello. What an older stream of that name still says is
  // dropped.
  void WorkerReported(const WorkerChannel& channel, core::RankReported report);
  void WorkerLogged(const WorkerChannel& channel, const std::string& worker, const LogPiece& piece);
  void WorkerSampled(const WorkerChannel& channel, const std::string& worker,
                     const job::DeviceSample& device, const job::HostSample& host);
  void WorkerDeviceChanged(const WorkerChannel& channel, core::DeviceStateChanged change);
  void WorkerToldFaults(const WorkerChannel& channel, core::DeviceFaultsTold told);
  void WorkerInspected(const WorkerChannel& channel, const std::string& worker,
                       const std::string& request_id, base::Result<job::Inspection> inspection);
  void WorkerReadArtifact(const WorkerChannel& channel, const std::string& worker,
                          const std::string& request_id, job::ArtifactPiece piece,
                          const std::string& error);
  void WorkerRemovedOutputs(const WorkerChannel& channel, const std::string& worker,
                            const std::string& request_id, job::RemovalAnswer removal,
                            const std::string& error);
  void WorkerLeft(const WorkerChannel& channel, const std::string& worker);

  // ---- reading ----

  const core::State& state() const { return state_; }
  core::Now Now() const { return {parts_.clock.Wall(), parts_.clock.Steady()}; }
  core::QueuedJobs FirstQueued(size_t most) const { return core::FindQueued(state_, most); }
  const WorkerSessions& workers() const { return workers_; }
  const RecentLoads& loads() const { return loads_; }
  const RecentEnds& ends() const { return ends_; }
  int64_t clock_jumps() const { return clock_watch_.jumps(); }  // since it started
  // Why the last commit failed; empty: it did not.
  const std::string& store_trouble() const { return store_trouble_; }
  LogFiles& logs() { return parts_.logs; }
  ChangeFeed& job_changes() { return job_changes_; }  // flushed every kFlushPeriod
  ChangeFeed& log_changes() { return log_changes_; }  //

 private:
  struct Queued {
    core::Event event;
    Answer committed;  // empty: nobody waits
  };
  struct Submission {
    std::vector<core::Submission> jobs;
    std::vector<std::string> warnings;
    auth::Caller caller;
    std::vector<SubmitAnswer> answers;
  };

  struct OutputRemoval;

  void Apply(core::Event event, Answer committed = {});
  void DrainSoon();
  void Drain();
  void ThinPoints();
  // Of jobs that were removed before this start: a kill may have come before their logs went.
  void FindLogsOfRemovedJobs();
  // Of those, and of jobs that ended so long ago, in turns that hold back nobody: first it is
  // stored that they are removed, then they are.
  void RemoveOldLogs();
  // False: all jobs were looked at.
  bool FindOldLogs();
  void MarkLogs(base::JobId id);
  void RemoveMarkedLogs();
  void SayLogsNotRemoved(base::JobId id, const base::Error& error);
  void Hold(core::Actions actions);
  void Commit();
  void NoteEnds();  // of what is stored now
  void OnFlush();
  void OnTick();
  base::Status Load();
  base::Status SkipJobsWithLogs(core::StoredState* stored) const;
  void Fail(const base::Error& error);
  void AskForStalledLogs();
  void LookAtClock();
  void AuditSubmitted(const core::SubmitAccepted& accepted);
  void Audit(const auth::Caller& actor, const std::string& action, const std::string& subject);

  void Perform(core::Effect& effect);
  void Perform(core::Welcome& welcome);
  void Perform(core::RefuseWorker& refused);
  void Perform(core::SubmitAccepted& accepted);
  void Perform(core::SubmitRefused& refused);
  void Perform(core::JobChanged& changed);
  void Perform(core::FaultIsNews& news);
  void Perform(core::InspectJob& ask);
  template <class Command>
  void Perform(Command& command);

  // Tells the core of the inspection, with what earlier runs of such a job took.
  void LearnOf(const job::JobSpec& spec, core::JobInspected told);
  base::Status CheckOver(const std::vector<base::JobId>& jobs) const;
  // Of a job that is to be: nothing that it names is being removed.
  base::Status CheckStays(const job::JobSpec& spec) const;
  void EndWorkers(const std::string& why);
  void AskNextHost(const std::shared_ptr<OutputRemoval>& removal);
  void StoreRemoval(const std::shared_ptr<OutputRemoval>& removal);
  static std::string TextOf(const OutputRemoval& removal);
  void FinishRemoval(const std::shared_ptr<OutputRemoval>& removal);
  void FailRemoval(const OutputRemoval& removal, const base::Error& error);
  bool IsIdle(const std::string& worker) const;
  base::Result<const core::Worker*> FindWorker(const std::string& name) const;
  base::Result<core::Lease> LeaseToChange(const std::string& name, const auth::Caller& caller,
                                          std::string_view rpc) const;
  base::Result<bool> IsPlacedOn(const std::string& worker, const job::RankKey& key);
  // What becomes of a piece that the worker tells of the rank's output.
  base::Result<WorkerSessions::Session::Logs> LogsOf(const std::string& worker,
                                                     const job::RankKey& key);
  void NoteTrouble(const std::string& worker, const std::string& trouble);
  // It is asked for again (AskForStalledLogs); the error is said once until then.
  void StallLog(WorkerSessions::Session& session, const job::RankKey& key,
                const base::Error& error);
  void AnswerStored(const store::StoredSubmission& stored, const auth::Caller& caller,
                    const SubmitAnswer& answer);
  const std::vector<job::SiteDevice>& Site();

  Parts parts_;
  core::State state_;
  bool stale_ = false;  // the state must be loaded again before the next event
  std::string store_trouble_;
  std::vector<Queued> queue_;
  bool drain_posted_ = false;
  base::SteadyMicros thins_next_ = 0;
  base::SteadyMicros looks_for_logs_next_ = 0;
  base::JobId logs_looked_at_;           // up to this job
  std::deque<base::JobId> old_logs_;     // found, and not marked yet
  std::deque<base::JobId> marked_logs_;  // the disk says that they go, and they have not yet

  store::Batch batch_;  // rows not committed yet, with what follows their commit
  std::vector<core::Effect> effects_;
  std::vector<Answer> committed_;
  size_t held_rows_ = 0;
  bool urgent_ = false;

  std::map<std::string, Submission> submissions_;     // on their way, by request id
  std::optional<std::vector<job::SiteDevice>> site_;  // until a worker's row changes
  WorkerSessions workers_;
  NewestStreams newest_streams_;
  RecentLoads loads_;
  RecentEnds ends_;
  ClockWatch clock_watch_;
  Inspections inspections_{workers_, [this](const std::string& worker) { return IsIdle(worker); }};
  KnownInspections known_inspections_;  // that clients were told
  ArtifactReads artifact_reads_;
  OutputRemovals output_removals_;
  std::map<base::JobId, std::string> removing_;  // jobs whose files go, with their output.dir
  RefusalBudget refusals_;
  ChangeFeed job_changes_;
  ChangeFeed log_changes_;
};

}  // namespace trainctl::coordinator
