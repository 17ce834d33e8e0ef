// What rank, shim and worker say to each other: newline-delimited JSON, one object a line with a
// "type" (rank_json.h). Rank → worker on --messages-fd, worker → rank on --commands-fd. stdout and
// stderr of the rank are its log.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "common/job/outcome.h"
#include "common/rank/metric.h"
#include "common/rank/run_phase.h"

namespace trainctl::job {

// The rank's process is up. {"type":"started", …}
struct RankStarted {
  int64_t pid = 0;
  std::string commit, libtorch, nccl, driver, device_name;
};

// Rank 0 only: the opaque blob by which the others join (hex). {"type":"rendezvous","blob":"…"}
struct RankRendezvous {
  std::string blob;
};

// Sent when it changes, at most a few times a second, also from inside a long step.
struct RankProgress {
  int64_t step = 0;        // optimizer steps done, those before a resume included
  int64_t first_step = 0;  // that this attempt began behind: of a resumed run its checkpoint's
  int64_t steps = 0;       // of the whole run
  Stage stage = Stage::kCompute;
  std::optional<double> loss;
  int64_t peak_allocated_bytes = 0;
};

// {"type":"metrics","points":[{"name","step","value","time","rank"?,"phase"?}]}; a point without
// "rank" is of the whole gang.
struct RankMetrics {
  std::vector<MetricPoint> points;
};

// An artefact was written completely: a file, or a folder with all below it.
// {"type":"saved","kind":"final" | "checkpoint" | …,"path":"…","bytes":n,"removed":["…"]?}
struct RankSaved {
  std::string kind;                       // "final", …: what it is
  std::string path;                       // absolute, on the rank's host
  int64_t bytes = 0;                      // of all its files; 0: not known
  std::string record = {};                // which files they are (common/base/saved_folder.h)
  std::vector<std::string> removed = {};  // paths of older ones, of whatever job, that go for it
};

// Something that people should know of the run, for its events. {"type":"notice","text":"…"}
struct RankNotice {
  std::string text;
};

// What the model makes of one of eval.prompts at an evaluation. Rank 0 only.
// {"type":"continuation","step":n,"place":i,"prompt":"…","text":"…"}
struct RankContinuation {
  static constexpr size_t kMaxTextBytes = 16 << 10;

  int64_t step = 0;    // that were done at the evaluation; 0: of a job that does not train
  int64_t place = 0;   // of the prompt, from 0
  std::string prompt;  // of a model of pictures: the picture's path, and what follows it
  std::string text;    // what was added, of at most kMaxTextBytes

  bool operator==(const RankContinuation&) const = default;
};

// The rank's own view of its end, said before it exits. A rank that dies without it FAILED.
struct RankOutcome {
  Outcome outcome = Outcome::kSucceeded;
  std::string message;
  std::optional<OomDetail> oom;
};

// Said by the shim in the rank's place: so many lines of progress and metrics were dropped while
// nobody took them (worker/shim/spool.h). {"type":"dropped","messages":n}
struct RankDropped {
  int64_t messages = 0;
};

using RankMessage = std::variant<RankStarted, RankPhase, RankRendezvous, RankProgress, RankMetrics,
                                 RankSaved, RankNotice, RankContinuation, RankOutcome, RankDropped>;

// {"type":"peers","blob":"…"}: to ranks other than 0, once rank 0 published.
struct PeersCommand {
  std::string blob;
};
// {"type":"stop"}: finish the step, checkpoint where the job asks for it, and exit with outcome
// CANCELLED.
struct StopCommand {};

using RankCommand = std::variant<PeersCommand, StopCommand>;

}  // namespace trainctl::job
