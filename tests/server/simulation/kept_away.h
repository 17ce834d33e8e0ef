// A job that failed keeps away from where it failed (server/core/retry.h): by what is stored of its
// attempts, and by the workers' words.
#pragma once

#include <map>
#include <set>
#include <string>

#include "server/core/state.h"
#include "tests/server/ledger.h"

namespace trainctl::core {

// Workers by the job that has failed on them.
using FailedOn = std::map<base::JobId, std::set<std::string>>;

// Before a Tick: where jobs that wait after a failure may not go. Enough others are free for them.
// Of sites without leases, of jobs that want no whole hosts.
FailedOn WhereTheyMayNotGo(const State& state, const Ledger& ledger);
// After it.
void TheyKeepAway(const State& state, const FailedOn& failed_on);

}  // namespace trainctl::core
