// Who asks something of the simulated coordinator.
#pragma once

#include <string>

#include "server/coordinator/coordinator.h"

namespace trainctl::core {

inline auth::Caller Person(const std::string& name) {
  return {.name = name, .address = "here", .role = auth::Role::kUser};
}
inline auth::Caller Operator() {
  return {.name = "ops", .address = "here", .role = auth::Role::kOperator};
}

// They ask again where it was in vain.
inline auto Ignored() {
  return [](const auto&) {};
}

}  // namespace trainctl::core
