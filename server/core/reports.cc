// What workers report about ranks. Each report has its effect once: its number is stored in the
// same transaction as the effect. What a rank said stands in the history when it said it, however
// late it comes.
#include <algorithm>
#include <utility>

#include "common/base/utf8.h"
#include "server/core/gang.h"
#include "server/core/handlers.h"
#include "server/core/slowness.h"

namespace trainctl::core {
namespace {

struct Report {
  Turn& turn;
  Job& job;
  LiveAttempt& attempt;
  Rank& rank;
  base::WallMicros said_at = 0;

  void NoteProgress() { attempt.progress_steady = turn.now.steady; }
  void Say(std::string text) const { core::Say(turn, job.row.id, std::move(text), said_at); }
  void SayOfRank(const std::string& text) const {
    Say("rank " + std::to_string(rank.row.key.rank) + text);
  }
};

void BecomeRunningIfAllJoined(Report& report) {
  const bool all_joined =
      std::all_of(report.attempt.ranks.begin(), report.attempt.ranks.end(), HasJoined);
  if (report.job.status.state != job::JobState::kStarting || !all_joined) return;
  report.job.status.state = job::JobState::kRunning;
  SaveJob(report.turn, report.job);
  report.Say("all ranks joined");
}

// A rank leaves its trial only when all ranks have passed.
void ProveMicroBatch(Report& report) {
  AttemptRow& attempt = report.attempt.row;
  if (attempt.trial != Trial::kDue) return;
  attempt.trial = Trial::kPassed;
  report.job.status.proven_by = attempt.attempt;
  SaveAttempt(report.turn, report.attempt);
  SaveJob(report.turn, report.job);
  report.Say("micro batch " + std::to_string(attempt.micro_batch_size) + " fits: proven by trial");
}

void EnterPhase(Report& report, const job::RankPhase& phase) {
  const job::RankPhase& old = report.rank.row.phase;
  if (phase.phase != old.phase || phase.done != old.done) report.NoteProgress();
  const bool leaves_trial = old.phase == job::RunPhase::kTrial && phase.phase != old.phase;
  if (leaves_trial) ProveMicroBatch(report);
  report.rank.row.phase = phase;
  SaveRank(report.turn, report.rank);
  BecomeRunningIfAllJoined(report);
}

void Apply(Report& report, const job::RankStarted& body) {
  Worker& worker = WorkerOf(report.turn.state, report.rank);
  report.rank.row.started = body;
  report.rank.row.started.driver = worker.row.device.driver;  // a rank does not know it
  if (!report.rank.over) worker.word = DeviceWord::kUnknown;  // what was said before is over
  EnterPhase(report, {.phase = job::RunPhase::kStarted});
}

void Apply(Report& report, const job::RankPhase& body) { EnterPhase(report, body); }

void Apply(Report& report, const job::RankRendezvous& body) {
  if (report.rank.row.key.rank != 0) return;
  report.attempt.row.blob = body.blob;
  report.NoteProgress();
  SaveAttempt(report.turn, report.attempt);
  for (const Rank& rank : report.attempt.ranks)
    SendPeersIfNeeded(report.turn, report.attempt, rank);
}

// The first progress of an attempt says behind which step it began.
void RewindIfResumed(Report& report, const job::RankProgress& body) {
  const job::RankKey& key = report.rank.row.key;
  const bool is_first = report.rank.row.progress.steps == 0 && body.steps > 0;
  if (key.rank != 0 || key.attempt == 1 || !is_first) return;
  report.turn.Persist(RewindRow{key.job, key.attempt, body.first_step});
}

void Apply(Report& report, const job::RankProgress& body) {
  RewindIfResumed(report, body);
  if (body.step > report.rank.row.progress.step) report.NoteProgress();
  report.rank.row.progress = body;
  if (!HasJoined(report.rank)) return EnterPhase(report, {.phase = job::RunPhase::kTraining});
  SaveRank(report.turn, report.rank);
}

void Apply(Report& report, const job::RankMetrics& body) {
  for (const job::MetricPoint& point : body.points) {
    if (report.rank.row.key.rank == 0) report.attempt.pace.Add(point, report.turn.now.steady);
    const auto verdicts =
        report.attempt.gang_pace.Add(report.rank.row.key.rank, report.attempt.ranks.size(), point,
                                     report.turn.state.options.slowness);
    for (const GangPace::Verdict& verdict : verdicts) TakeVerdict(report.turn, report.job, verdict);
  }
  report.turn.Persist(MetricRows{report.rank.row.key, body.points});
}

void Apply(Report& report, const job::RankSaved& body) {
  report.turn.Persist(ArtefactRow{report.rank.row.key, body, report.said_at});
  report.SayOfRank(" saved " + body.kind + " to " + body.path);
}

void Apply(Report& report, const job::RankNotice& body) { report.SayOfRank(": " + body.text); }

// The beginning of a text, cut between characters. Controls stay, as the model gave them: whoever
// shows a text escapes it.
std::string BeginningOf(std::string text, size_t max_bytes) {
  constexpr std::string_view kEllipsis = "…";
  base::ReplaceInvalidUtf8(&text);
  if (text.size() <= max_bytes) return text;
  text.resize(base::WholeCharacters(text, max_bytes - kEllipsis.size()).size());
  return text.append(kEllipsis);
}

void Apply(Report& report, const job::RankContinuation& body) {
  job::RankContinuation said = body;
  said.prompt = BeginningOf(std::move(said.prompt), job::RankContinuation::kMaxTextBytes);
  said.text = BeginningOf(std::move(said.text), job::RankContinuation::kMaxTextBytes);
  report.turn.Persist(ContinuationRow{report.job.row.id, std::move(said)});
  report.turn.changed.insert(report.job.row.id);  // somebody may read it as it comes
}

void Apply(Report& report, const job::RankDropped& body) {
  report.SayOfRank(": " + std::to_string(body.messages) +
                   " messages of progress and metrics are lost: the worker or the coordinator was "
                   "away for too long");
}

// Said of the 1st, 10th, 100th, …: a rank may say nothing else.
void Apply(Report& report, const job::UnreadableMessage& body) {
  int64_t count = ++report.rank.unreadable;
  while (count % 10 == 0) count /= 10;
  if (count != 1) return;
  report.SayOfRank(": messages that can't be read: " + std::to_string(report.rank.unreadable) +
                   ", this one: " + body.why);
}

void Apply(Report& report, const job::RankOutcome& body) {
  report.rank.row.outcome = body;
  SaveRank(report.turn, report.rank);
  if (body.outcome == job::Outcome::kSucceeded) return;
  const int64_t rank = report.rank.row.key.rank;
  const std::string why =
      "rank " + std::to_string(rank) + " reported " + std::string(job::Name(body.outcome));
  StopGang(report.turn, report.job,
           {job::Outcome::kFailed, why, rank, report.turn.state.options.failure_grace_us});
}

void Apply(Report& report, const job::RankExit& body) {
  report.rank.row.exit = body;
  const bool died_with_host =
      !body.exit_code && !body.signal && WorkerOf(report.turn.state, report.rank).host_restarted;
  EndRank(report.turn, report.job, report.rank,
          died_with_host ? Proof::kHostRestarted : Proof::kExited);
}

void Apply(Report& report, const job::LaunchFailure& body) {
  report.rank.row.failure = body.message;
  if (body.worker_fault) {  // nothing is placed there before the worker says that it is able again
    Worker& worker = WorkerOf(report.turn.state, report.rank);
    worker.word = DeviceWord::kNotFree;
    worker.reason = body.message;
  }
  EndRank(report.turn, report.job, report.rank,
          body.worker_fault ? Proof::kWorkerUnfit : Proof::kLaunchFailed);
}

bool IsEnd(const job::ReportBody& body) {
  return std::holds_alternative<job::RankExit>(body) ||
         std::holds_alternative<job::LaunchFailure>(body);
}

// Of an attempt that is over, or of nothing we know: acknowledged so that it is not sent again, and
// dropped.
void Drop(Turn& turn, const RankReported& event) {
  turn.Perform(AckReport{event.worker, event.key, event.sequence});
  if (!IsEnd(event.body)) return;
  turn.Perform(ReleaseRank{event.worker, event.key});
  const auto worker = turn.state.workers.find(event.worker);
  if (worker == turn.state.workers.end()) return;
  std::erase(worker->second.strays, event.key);
  UpdateFree(turn, worker->second);
  turn.placement_may_change = true;  // its host may be empty now, though its device be not free
}

}  // namespace

void Handle(Turn& turn, const RankReported& event) {
  const auto [job, rank] = FindLiveRank(turn.state, event.key);
  if (job == nullptr || rank->row.worker != event.worker) return Drop(turn, event);
  const bool is_news = event.sequence > rank->sequence && rank->row.proof == Proof::kNone;
  turn.Perform(AckReport{event.worker, event.key, std::max(rank->sequence, event.sequence)});
  if (IsEnd(event.body)) turn.Perform(ReleaseRank{event.worker, event.key});
  if (!is_news) return;
  rank->sequence = event.sequence;
  rank->row.confirmed = true;
  turn.Persist(AckRow{event.key, event.sequence});
  Report report{turn, *job, *job->attempt, *rank,
                TimeBefore(job->attempt->row, turn.now.wall, event.age_us)};
  std::visit([&](const auto& body) { Apply(report, body); }, event.body);
}

}  // namespace trainctl::core
