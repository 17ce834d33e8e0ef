#include "common/rank/run_phase.h"

#include <algorithm>
#include <array>

#include "common/base/size.h"

namespace trainctl::job {
namespace {

constexpr std::array kPhases = {RunPhase::kPlaced,   RunPhase::kStarted,    RunPhase::kTokenizing,
                                RunPhase::kJoining,  RunPhase::kTrial,      RunPhase::kLoading,
                                RunPhase::kTraining, RunPhase::kEvaluating, RunPhase::kGenerating,
                                RunPhase::kSaving};

enum class Unit { kNone, kBytes, kPieces };

Unit UnitOf(RunPhase phase) {
  switch (phase) {
    case RunPhase::kTokenizing:
    case RunPhase::kLoading:
    case RunPhase::kSaving: return Unit::kBytes;
    case RunPhase::kTrial:
    case RunPhase::kEvaluating:
    case RunPhase::kGenerating: return Unit::kPieces;
    case RunPhase::kPlaced:
    case RunPhase::kStarted:
    case RunPhase::kJoining:
    case RunPhase::kTraining: return Unit::kNone;
  }
  return Unit::kNone;
}

}  // namespace

std::string_view Name(RunPhase phase) {
  switch (phase) {
    case RunPhase::kPlaced: return "placed";
    case RunPhase::kStarted: return "started";
    case RunPhase::kTokenizing: return "tokenizing";
    case RunPhase::kJoining: return "joining";
    case RunPhase::kTrial: return "trial";
    case RunPhase::kLoading: return "loading";
    case RunPhase::kTraining: return "training";
    case RunPhase::kEvaluating: return "evaluating";
    case RunPhase::kGenerating: return "generating";
    case RunPhase::kSaving: return "saving";
  }
  return "";
}

std::optional<RunPhase> ParseRunPhase(std::string_view name) {
  const auto found = std::ranges::find(kPhases, name, [](RunPhase phase) { return Name(phase); });
  return found == kPhases.end() ? std::nullopt : std::optional(*found);
}

bool HasJoined(RunPhase phase) { return phase >= RunPhase::kTraining; }

std::string Describe(const RankPhase& phase) {
  const std::string name(Name(phase.phase));
  if (phase.total == 0) return name;
  switch (UnitOf(phase.phase)) {
    case Unit::kNone: return name;
    case Unit::kBytes:
      return name + " " + base::FormatBytes(phase.done) + " of " + base::FormatBytes(phase.total);
    case Unit::kPieces:
      return name + " " + std::to_string(phase.done) + "/" + std::to_string(phase.total);
  }
  return name;
}

std::string_view Name(Stage stage) {
  switch (stage) {
    case Stage::kCompute: return "compute";
    case Stage::kCollective: return "collective";
  }
  return "";
}

std::optional<Stage> ParseStage(std::string_view name) {
  for (const Stage stage : {Stage::kCompute, Stage::kCollective}) {
    if (Name(stage) == name) return stage;
  }
  return std::nullopt;
}

}  // namespace trainctl::job
