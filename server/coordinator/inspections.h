// Questions to workers about a job's model and data, on their way. An inspection may hang, so they
// are bounded: each worker looks at a few jobs at once, for each user a few at once; further ones
// wait for their turn, also bounded, and no longer than a deadline. Idle workers are asked first.
// The loop's thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "common/base/clock.h"
#include "common/estimate/inspection.h"
#include "server/coordinator/pending_answers.h"
#include "server/coordinator/worker_sessions.h"

namespace trainctl::coordinator {

class Inspections {
 public:
  static constexpr int64_t kDeadlineMicros = 60'000'000;  // of the worker; before that, of the wait
  static constexpr size_t kMostOfWorker = 4;
  static constexpr size_t kMostOfUser = 2;
  static constexpr size_t kMostWaitingOfUser = 32;
  static constexpr size_t kMostWaiting = 256;

  struct Question {
    std::string user;    // who asks: the job's owner
    std::string worker;  // the one to look; empty: any
    std::string job_json;
  };

  // The inspection. kUnavailable: no worker is connected, it went away, had no time, or did not
  // answer within the deadline. kExhausted: too many questions wait. kInvalid: one worker of each
  // connected host looked, and none can read the model or the data. The words are those of the
  // first.
  using Answer = std::function<void(base::Result<job::Inspection>)>;
  using IsIdle = std::function<bool(const std::string& worker)>;

  Inspections(WorkerSessions& workers, IsIdle is_idle)
      : workers_(workers), is_idle_(std::move(is_idle)) {}

  void Ask(Question question, base::SteadyMicros now, Answer answer);

  // An unknown id, or one of another worker's: dropped.
  void OnResult(const std::string& worker, const std::string& request_id,
                base::Result<job::Inspection> inspection, base::SteadyMicros now);
  void OnWorkerLeft(const std::string& worker, base::SteadyMicros now);
  void OnTick(base::SteadyMicros now);
  void FailAll(const std::string& message);

 private:
  struct Waiting {
    Question question;
    Answer answer;
    base::SteadyMicros deadline = 0;
    std::set<std::string> hosts;         // where somebody looked in vain
    std::optional<base::Error> refusal;  // of the first
  };

  // Sends what may be sent now.
  void Pump(base::SteadyMicros now);
  // Empty: none may be asked now.
  std::string ChooseWorker(const Waiting& waiting);
  bool HasRoom(const std::string& worker) const;
  void Send(Waiting waiting, const std::string& worker, base::SteadyMicros now);
  void Answered(Waiting waiting, const std::string& worker, base::Result<job::Inspection> result,
                base::SteadyMicros now);

  WorkerSessions& workers_;
  const IsIdle is_idle_;
  base::SteadyMicros now_ = 0;
  std::list<Waiting> waiting_;                         // in order of their coming
  std::map<std::string, size_t> of_worker_, of_user_;  // asked now
  PendingAnswers<job::Inspection> asked_{"i", "inspections", kMostWaiting, kMostOfUser,
                                         kDeadlineMicros};
};

}  // namespace trainctl::coordinator
