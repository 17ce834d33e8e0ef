// Actions, states and stored rows as text, one fact a line: for transcripts and for comparing.
#pragma once

#include <string>

#include "server/core/actions.h"
#include "server/core/restore.h"
#include "server/core/state.h"
#include "server/core/wait.h"

namespace trainctl::core {

// "j1/1/0": job, attempt, rank.
std::string Short(const job::RankKey& key);

// What a reader of a transcript wants to know: status changes, events, ends of attempts; then the
// effects.
std::string Describe(const Actions& actions);

// Every job with its reason, every worker.
std::string Describe(const State& state, const Now& now);

// What keeps a job from starting: a line for each device.
std::string Describe(const Wait& wait, const Now& now);

// Everything in it but the jobs' specs (of which the name).
std::string Describe(const StoredState& stored);

}  // namespace trainctl::core
