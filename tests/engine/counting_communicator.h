// A communicator that hands everything on to another, and counts.
#pragma once

#include "worker/rank/comm/communicator.h"

namespace trainctl::engine_test {

class CountingCommunicator : public comm::Communicator {
 public:
  explicit CountingCommunicator(comm::Communicator& inner) : inner_(inner) {}

  int64_t all_gathers() const { return all_gathers_; }
  int64_t reduce_scatters() const { return reduce_scatters_; }

  int64_t rank() const override { return inner_.rank(); }
  int64_t world_size() const override { return inner_.world_size(); }
  Ticket AllReduce(const at::Tensor& tensor) override { return inner_.AllReduce(tensor); }
  Ticket AllGather(const at::Tensor& output, const at::Tensor& input) override {
    ++all_gathers_;
    return inner_.AllGather(output, input);
  }
  Ticket ReduceScatter(const at::Tensor& output, const at::Tensor& input) override {
    ++reduce_scatters_;
    return inner_.ReduceScatter(output, input);
  }
  Ticket Broadcast(const at::Tensor& tensor, int64_t root) override {
    return inner_.Broadcast(tensor, root);
  }
  void Wait(Ticket ticket) override { inner_.Wait(ticket); }
  void CheckHealth() override { inner_.CheckHealth(); }
  void Abort() noexcept override { inner_.Abort(); }

 private:
  comm::Communicator& inner_;
  int64_t all_gathers_ = 0, reduce_scatters_ = 0;
};

}  // namespace trainctl::engine_test
