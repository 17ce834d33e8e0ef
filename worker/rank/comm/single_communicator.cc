#include "worker/rank/comm/single_communicator.h"

#include "common/base/check.h"

namespace trainctl::comm {

Communicator::Ticket SingleCommunicator::Copy(const at::Tensor& output, const at::Tensor& input) {
  CHECK(output.numel() == input.numel())
      << output.numel() << " elements out, " << input.numel() << " in, one rank";
  if (output.data_ptr() != input.data_ptr()) {
    output.view({-1}).copy_(input.view({-1}), /*non_blocking=*/true);
  }
  return 0;
}

}  // namespace trainctl::comm
