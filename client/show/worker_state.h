// How a worker's state is shown. Pure.
#pragma once

#include <string_view>

#include "client/show/text_table.h"

namespace trainctl::client {

// Of LOST, BAD, DIRTY, and what this version does not know: bad. DRAINED was asked for by somebody.
Style StyleOfWorkerState(std::string_view state);

}  // namespace trainctl::client
