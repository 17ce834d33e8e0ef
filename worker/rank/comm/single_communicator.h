// The group of one rank: every sum is its own input, on any device. Nothing is awaited, nothing can
// fail.
#pragma once

#include "worker/rank/comm/communicator.h"

namespace trainctl::comm {

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
  static Ticket Copy(const at::Tensor& output, const at::Tensor& input);
};

}  // namespace trainctl::comm
