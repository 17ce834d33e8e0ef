#include "worker/rank/strategy/replicated.h"

namespace trainctl::strategy {

std::optional<comm::Communicator::Ticket> Replicated::StartReduction(const at::Tensor& leased,
                                                                     at::Tensor& part) {
  part = leased;
  if (!distributed()) return std::nullopt;
  return options_.comm->AllReduce(leased);
}

// The ranks share the writing.
bool Replicated::WritesState(ops::UnitId unit) const {
  return !distributed() || unit % options_.comm->world_size() == options_.comm->rank();
}

}  // namespace trainctl::strategy
