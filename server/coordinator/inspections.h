// Questions to workers about a job's model and data, on their way. The loop's thread only.
#pragma once

#include <cstdint>
#include <string>

#include "server/coordinator/pending_answers.h"
#include "server/coordinator/worker_sessions.h"

namespace trainctl::coordinator {

class Inspections {
 public:
  static constexpr int64_t kDeadlineMicros = 60'000'000;
  static constexpr size_t kMaxWaiting = 256;

  // The inspection's JSON. kUnavailable: no worker is connected, it went away, had no time, or did
  // not answer within the deadline. kExhausted: too many questions wait. kInvalid: the worker
  // looked, and can't read the model or the data (its words).
  using Answer = PendingAnswers<std::string>::Answer;
  void Ask(WorkerSessions& workers, std::string job_json, base::SteadyMicros now, Answer answer);
  // Of this worker, and no other.
  void AskWorker(WorkerSessions& workers, const std::string& worker, std::string job_json,
                 base::SteadyMicros now, Answer answer);

  // An unknown id: answered too late, dropped.
  void OnResult(const std::string& request_id, base::Result<std::string> inspection_json) {
    pending_.Give(request_id, std::move(inspection_json));
  }
  void OnWorkerLeft(const std::string& worker) { pending_.OnWorkerLeft(worker); }
  void OnTick(base::SteadyMicros now) { pending_.OnTick(now); }
  void FailAll(const std::string& message) { pending_.FailAll(message); }

 private:
  PendingAnswers<std::string> pending_{"i", "inspections", kMaxWaiting, kDeadlineMicros};
  size_t turns_ = 0;
};

}  // namespace trainctl::coordinator
