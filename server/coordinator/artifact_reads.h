// Questions to workers for pieces of what ranks have saved, on their way. Whoever asks decides what
// may be read (questions.h); a piece is at most 1 MiB, so that what waits here is bounded. The
// loop's thread only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/rank/artifact.h"
#include "server/coordinator/pending_answers.h"
#include "server/coordinator/worker_sessions.h"

namespace trainctl::coordinator {

class ArtifactReads {
 public:
  static constexpr int64_t kDeadlineMicros = 60'000'000;
  static constexpr size_t kMaxWaiting = 64;
  static constexpr size_t kMaxWaitingOfUser = kMaxWaiting / 4;

  // kUnavailable: none of these workers is connected, it went away, or it did not answer within the
  // deadline. kExhausted: too many wait, or too many of this user. kIo: the worker can't read it
  // (its words).
  using Answer = PendingAnswers<job::ArtifactPiece>::Answer;
  // workers: of the host, the first that is connected is asked. user: who asks.
  void Ask(WorkerSessions& sessions, const std::vector<std::string>& workers,
           const std::string& user, job::ArtifactQuestion question, base::SteadyMicros now,
           Answer answer);

  // error empty: it succeeded. An unknown id, or one of another worker's: dropped.
  void OnResult(const std::string& worker, const std::string& request_id, job::ArtifactPiece piece,
                const std::string& error);
  void OnWorkerLeft(const std::string& worker) { pending_.OnWorkerLeft(worker); }
  void OnTick(base::SteadyMicros now) { pending_.OnTick(now); }
  void FailAll(const std::string& message) { pending_.FailAll(message); }

 private:
  PendingAnswers<job::ArtifactPiece> pending_{"a", "reads of artifacts", kMaxWaiting,
                                              kMaxWaitingOfUser, kDeadlineMicros};
};

}  // namespace trainctl::coordinator
