// Which ranks keep a gang from going on: pure. Internal to this room.
#pragma once

#include <string>
#include <vector>

#include "server/core/state.h"

namespace trainctl::core {

struct Hang {
  std::vector<int64_t> ranks;  // that did not join; never empty
  std::string message;         // for people
};

// Of a gang without progress. While some rank has not joined: the ranks least far in start-up.
// Later: of the ranks with the lowest step, those that do not wait in a collective. If all of them
// wait, all.
Hang FindHang(const LiveAttempt& attempt, int64_t timeout_seconds);

}  // namespace trainctl::core
