// Questions to workers for pieces of what ranks have saved. Whoever asks decides what may be read
// (questions.h); a piece is at most 1 MiB, so that what waits here is bounded.
#pragma once

#include <cstdint>

#include "common/rank/artifact.h"
#include "server/coordinator/host_questions.h"

namespace trainctl::coordinator {

// What the worker can't read: kIo.
class ArtifactReads : public HostQuestions<AskArtifact, job::ArtifactPiece> {
 public:
  static constexpr int64_t kDeadlineMicros = 60'000'000;
  static constexpr size_t kMaxWaiting = 64;
  static constexpr size_t kMaxWaitingOfUser = kMaxWaiting / 4;

  ArtifactReads()
      : HostQuestions({"a", "reads of artifacts", kMaxWaiting, kMaxWaitingOfUser, kDeadlineMicros},
                      base::Code::kIo) {}
};

}  // namespace trainctl::coordinator
