// A communicator that tells the reporter when the rank waits for others: what tells a hung rank
// from those that wait for it.
#pragma once

#include <memory>

#include "worker/rank/comm/communicator.h"
#include "worker/rank/process/reporter.h"

namespace trainctl::train {

class WatchedCommunicator : public comm::Communicator {
 public:
  WatchedCommunicator(std::unique_ptr<comm::Communicator> inner, Reporter& reporter)
      : inner_(std::move(inner)), reporter_(reporter) {}

  int64_t rank() const override { return inner_->rank(); }
  int64_t world_size() const override { return inner_->world_size(); }
  Ticket AllReduce(const at::Tensor& tensor) override {
    const Waiting waiting(reporter_);
    return inner_->AllReduce(tensor);
  }
  Ticket AllGather(const at::Tensor& output, const at::Tensor& input) override {
    const Waiting waiting(reporter_);
    return inner_->AllGather(output, input);
  }
  Ticket ReduceScatter(const at::Tensor& output, const at::Tensor& input) override {
    const Waiting waiting(reporter_);
    return inner_->ReduceScatter(output, input);
  }
  Ticket Broadcast(const at::Tensor& tensor, int64_t root) override {
    const Waiting waiting(reporter_);
    return inner_->Broadcast(tensor, root);
  }
  void Wait(Ticket ticket) override {
    const Waiting waiting(reporter_);
    inner_->Wait(ticket);
  }
  void CheckHealth() override { inner_->CheckHealth(); }
  void Abort() noexcept override { inner_->Abort(); }

 private:
  struct Waiting {
    explicit Waiting(Reporter& to) : reporter(to) { reporter.Stage("collective"); }
    ~Waiting() { reporter.Stage("compute"); }
    Reporter& reporter;
  };

  std::unique_ptr<comm::Communicator> inner_;
  Reporter& reporter_;
};

}  // namespace trainctl::train
