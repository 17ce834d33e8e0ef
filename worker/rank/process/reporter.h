// The rank's voice: messages to the worker, one JSON line each. A thread of its own writes them, so
// that a step never waits for them. Thread-safe. Bound: kMaxPendingPoints metric points; beyond it
// the oldest are dropped and counted on stderr. Other messages are few and never dropped. Progress
// is sent when it changed, at most every kFlushInterval. Rank 0 also writes its log and its curves,
// by the same thread (run_log.h, event_file.h).
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "common/base/clock.h"
#include "common/base/saved_folder.h"
#include "common/rank/rank_messages.h"
#include "worker/rank/process/event_file.h"
#include "worker/rank/process/run_log.h"

namespace trainctl::train {

constexpr size_t kMaxPendingPoints = 100'000;

class Reporter {
 public:
  // fd < 0: messages are dropped (a rank run by hand). Points of the rank bear its number. log_fd:
  // where rank 0 writes what it does; < 0: nowhere.
  Reporter(int fd, const base::Clock& clock, int64_t rank, int log_fd = -1);
  // Writes all that is pending.
  ~Reporter();

  void Send(const job::RankMessage& message);
  // What the rank does, and how far it is. A new phase is sent at once, behind the last word of the
  // one before; of one phase the latest word, at most every kFlushInterval.
  void Phase(job::RunPhase phase, int64_t done = 0, int64_t total = 0);
  // What was written completely, a file or a folder, and the record of it. removed: what goes for
  // it.
  void Saved(std::string kind, std::string path, const base::Result<base::SavedRecord>& record,
             std::vector<std::string> removed = {});
  // A point of the metric. One of the whole gang is reported by rank 0; from others it is nothing.
  void Record(job::Metric metric, int64_t step, double value,
              std::optional<job::Phase> phase = std::nullopt);
  void Progress(const job::RankProgress& progress);
  // For the log alone; what they tell is recorded besides.
  void Stepped(const LoggedStep& step);
  void Evaluated(const LoggedEvaluation& evaluation);
  // Points that are recorded from now on are added to the file too. Once it takes no more a notice
  // says so, and the run goes on.
  void Track(EventFile file);
  // kCollective while the rank waits for others.
  void Stage(job::Stage stage);

 private:
  void Run();
  std::string TakePending();
  void WriteCurves(EventFile* curves, const std::vector<job::MetricPoint>& points);

  const int fd_;
  const base::Clock& clock_;
  const int64_t rank_;
  const int log_fd_;
  std::mutex mutex_;
  RunLog log_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::deque<std::string> lines_;
  std::deque<job::MetricPoint> points_;
  std::optional<EventFile> curves_;        // set once; its file is touched by the thread alone
  bool tracks_ = false;                    // points go there
  std::vector<job::MetricPoint> tracked_;  // that it gets next, as many as points_ at most
  int64_t dropped_points_ = 0;
  job::RankPhase phase_;
  bool phase_changed_ = false;
  job::RankProgress progress_;
  bool progress_changed_ = false;
  std::thread thread_;
};

}  // namespace trainctl::train
