// Whether what was read can be what this program stored. Internal to this room.
#pragma once

#include <string>

#include "server/core/restore.h"

namespace trainctl::store {

// What contradicts itself, in words; empty: nothing. core::Restore takes a state without faults.
std::string FindFault(const core::StoredState& state);

}  // namespace trainctl::store
