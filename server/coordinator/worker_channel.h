// The way to one connected worker, as the shell sees it: what it may be told, and that its stream
// can be ended.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "common/base/result.h"
#include "common/rank/artifact.h"
#include "common/rank/output_removal.h"
#include "server/core/actions.h"

namespace trainctl::coordinator {

// The rank's output is stored up to here.
struct LogStored {
  job::RankKey key;
  int64_t offset = 0;  // bytes
  bool again = false;  // what was told behind it was not: to be told again
};

// Answers Hello: what of each held rank is stored, so that the worker goes on behind it.
struct WelcomeWorker {
  std::vector<core::AckRow> acks;
  std::vector<LogStored> logs;
};

struct AskInspect {
  std::string request_id;
  std::string job_json;
  std::string owner = {};  // of the job
};

struct AskArtifact {
  std::string request_id;
  job::ArtifactQuestion question;
};

struct AskOutputs {
  std::string request_id;
  job::RemovalQuestion question;
};

using WorkerCommand = std::variant<WelcomeWorker, core::StartRank, core::KeepDeadline,
                                   core::SendPeers, core::StopRank, core::ReleaseRank,
                                   core::AckReport, LogStored, AskInspect, AskArtifact, AskOutputs>;

// The loop's thread only.
class WorkerChannel {
 public:
  virtual ~WorkerChannel() = default;
  // In order; never blocks. A worker that does not read loses its stream once its bounded queue is
  // full. It is told all again when it comes back.
  virtual void Send(const WorkerCommand& command) = 0;
  // Idempotent.
  virtual void End(const base::Error& reason) = 0;
};

}  // namespace trainctl::coordinator
