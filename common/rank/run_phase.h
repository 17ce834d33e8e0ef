// What a rank does, in phases, and how far it is in each.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace trainctl::job {

// In the order of a start; kTraining and those behind it take turns.
enum class RunPhase {
  kPlaced,      // no word of the rank yet
  kStarted,     // its process is up
  kTokenizing,  // reads the data; in bytes, of which each counts twice: digest and tokens
  kJoining,     // meets the other ranks
  kTrial,       // proves the micro batch; in micro steps. Left once all ranks have passed
  kLoading,     // weights or a checkpoint; in bytes
  kTraining,    // makes steps, which RankProgress counts
  kEvaluating,  // in micro batches
  kGenerating,  // in tokens of the continued prompts
  kSaving       // the model or a checkpoint; in bytes
};

std::string_view Name(RunPhase phase);  // "evaluating"
std::optional<RunPhase> ParseRunPhase(std::string_view name);

// The rank's start-up is over: it makes steps, evaluates or saves.
bool HasJoined(RunPhase phase);

// Sent when it changes, `done` at most a few times a second. total 0: how much there is to do is
// not known, or the phase does not count.
// {"type":"phase","phase":"evaluating","done":12,"total":40}
struct RankPhase {
  RunPhase phase = RunPhase::kPlaced;
  int64_t done = 0;
  int64_t total = 0;
};

// For people: "evaluating 12/40", "loading 1.20 GiB of 13.50 GiB", "joining".
std::string Describe(const RankPhase& phase);

// Tells a hung rank from one that waits for it.
enum class Stage {
  kCompute,
  kCollective  // waits for others
};

std::string_view Name(Stage stage);  // "collective"
std::optional<Stage> ParseStage(std::string_view name);

}  // namespace trainctl::job
