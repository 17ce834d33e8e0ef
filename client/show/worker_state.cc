#include "client/show/worker_state.h"

namespace trainctl::client {

Style StyleOfWorkerState(std::string_view state) {
  if (state == "READY") return Style::kGood;
  if (state == "DRAINED") return Style::kWarning;
  return state == "BUSY" || state == "LEASED" ? Style::kPlain : Style::kBad;
}

}  // namespace trainctl::client
