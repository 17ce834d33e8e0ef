// What each worker has said of its device last, as the events tell it: for a check of what the core
// makes of that.
#pragma once

#include <map>
#include <set>
#include <string>

#include "server/core/events.h"
#include "server/core/state.h"

namespace trainctl::core {

class DeviceWords {
 public:
  // Before the Step.
  void Note(const State& state, const Event& event);
  // All workers are away.
  void Clear() { words_.clear(); }
  // It is free, and no rank has started there since. Of a worker that is away nothing is known.
  bool IsFree(const std::string& worker) const;

 private:
  struct Word {
    bool is_free = false;
    std::set<job::RankKey> over;  // ranks that had ended before: their reports say nothing of it
  };

  void Note(const WorkerHello& hello);
  void NoteReport(const State& state, const RankReported& report);

  std::map<std::string, Word> words_;  // of workers that are there
};

}  // namespace trainctl::core
