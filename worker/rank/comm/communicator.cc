#include "worker/rank/comm/communicator.h"

#include "worker/rank/comm/host_communicator.h"
#include "worker/rank/comm/host_rendezvous.h"
#include "worker/rank/comm/nccl_communicator.h"
#include "worker/rank/comm/single_communicator.h"

namespace trainctl::comm {

std::unique_ptr<Communicator> Join(const JoinOptions& options) {
  if (options.world_size == 1) {
    return std::make_unique<SingleCommunicator>();
  }
  if (options.cuda) {
    return JoinNccl(options);
  }
  return std::make_unique<HostCommunicator>(options.rank, JoinMesh(options));
}

}  // namespace trainctl::comm
