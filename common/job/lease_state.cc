#include "common/job/lease_state.h"

namespace trainctl::job {

std::string_view Name(LeaseState state) {
  using enum LeaseState;
  switch (state) {
    case kUpcoming: return "UPCOMING";
    case kActive: return "ACTIVE";
    case kEnding: return "ENDING";
  }
  return "";
}

std::optional<LeaseState> ParseLeaseState(std::string_view name) {
  using enum LeaseState;
  for (const LeaseState state : {kUpcoming, kActive, kEnding}) {
    if (Name(state) == name) return state;
  }
  return std::nullopt;
}

}  // namespace trainctl::job
