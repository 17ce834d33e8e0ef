// Questions to workers to remove what a job has saved, or to tell what that would be.
#pragma once

#include <cstdint>

#include "common/rank/output_removal.h"
#include "server/coordinator/host_questions.h"

namespace trainctl::coordinator {

// What the worker refuses or can't remove: kConflict.
class OutputRemovals : public HostQuestions<AskOutputs, job::RemovalAnswer> {
 public:
  static constexpr int64_t kDeadlineMicros = 120'000'000;
  static constexpr size_t kMaxWaiting = 64;
  static constexpr size_t kMaxWaitingOfUser = kMaxWaiting / 4;

  OutputRemovals()
      : HostQuestions({"o", "removals of files", kMaxWaiting, kMaxWaitingOfUser, kDeadlineMicros},
                      base::Code::kConflict) {}
};

}  // namespace trainctl::coordinator
