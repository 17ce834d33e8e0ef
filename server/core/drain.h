// What the end of a drain comes to, in words for who asks for it.
#pragma once

#include <string>
#include <vector>

#include "server/core/events.h"
#include "server/core/state.h"

namespace trainctl::core {

struct Undrained {
  std::vector<std::string> ended;  // "the drain of a by ann: a fan is broken", "XID 79 (…) of a/0"
  std::vector<std::string> kept;   // what still keeps jobs away: "a/1 is BAD: …"
};

// Of the event, were it to happen now.
Undrained WhatUndrainEnds(const State& state, const DevicesUndrained& event);

}  // namespace trainctl::core
