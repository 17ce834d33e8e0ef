#include "worker/rank/comm/communicator.h"

#include <ATen/ops/zeros.h>

#include <utility>

#include "common/base/check.h"
#include "worker/rank/comm/host_communicator.h"
#include "worker/rank/comm/host_rendezvous.h"
#include "worker/rank/comm/nccl_communicator.h"
#include "worker/rank/comm/shared_shards.h"

namespace trainctl::comm {
namespace {

// The group of one rank: every sum is its own input, on any device. Nothing is awaited, nothing can
// fail.
class SingleCommunicator : public Communicator {
 public:
  int64_t rank() const override { return 0; }
  int64_t world_size() const override { return 1; }

  Ticket AllReduce(const at::Tensor&) override { return 0; }
  Ticket AllGather(const at::Tensor& output, const at::Tensor& input) override {
    return Copy(output, input);
  }
  Ticket ReduceScatter(const at::Tensor& output, const at::Tensor& input) override {
    return Copy(output, input);
  }
  Ticket Broadcast(const at::Tensor&, int64_t) override { return 0; }
  void Wait(Ticket) override {}
  void CheckHealth() override {}
  void Abort() noexcept override {}

 private:
  // On the current stream, so that Wait has nothing to do.
  static Ticket Copy(const at::Tensor& output, const at::Tensor& input) {
    CHECK(output.numel() == input.numel())
        << output.numel() << " elements out, " << input.numel() << " in, one rank";
    if (output.data_ptr() != input.data_ptr()) {
      output.view({-1}).copy_(input.view({-1}), /*non_blocking=*/true);
    }
    return 0;
  }
};

}  // namespace

std::unique_ptr<SharedShards> Communicator::MakeShards(const std::vector<int64_t>& numels,
                                                       const at::TensorOptions& options) {
  std::vector<at::Tensor> shards;
  for (const int64_t numel : numels) shards.push_back(at::zeros({numel}, options));
  return std::make_unique<CollectiveShards>(*this, std::move(shards));
}

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
