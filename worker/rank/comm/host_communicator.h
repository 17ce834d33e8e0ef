// CPU ranks: HostGroup's collectives on CPU tensors of bf16, fp32, fp64 and int64. All-gather and
// broadcast take any dtype. A thread of the communicator runs them one after the other, so that
// they overlap what the caller computes.
//
// At most kMaxPending collectives wait; the next call then blocks until one is done. Destroying the
// communicator drops what was not waited for.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "worker/rank/comm/communicator.h"
#include "worker/rank/comm/host_group.h"

namespace trainctl::comm {

class HostCommunicator : public Communicator {
 public:
  static constexpr size_t kMaxPending = 256;

  HostCommunicator(int64_t rank, std::vector<Socket> peers);
  ~HostCommunicator() override;

  int64_t rank() const override { return group_.rank(); }
  int64_t world_size() const override { return group_.world_size(); }

  Ticket AllReduce(const at::Tensor& tensor) override;
  Ticket AllGather(const at::Tensor& output, const at::Tensor& input) override;
  Ticket ReduceScatter(const at::Tensor& output, const at::Tensor& input) override;
  Ticket Broadcast(const at::Tensor& tensor, int64_t root) override;
  void Wait(Ticket ticket) override;
  void CheckHealth() override;
  void Abort() noexcept override;

 private:
  Ticket Enqueue(std::function<void()> collective);
  void Serve();
  void ThrowIfFailed() const;

  HostGroup group_;
  std::mutex mutex_;
  std::condition_variable changed_;  // with mutex_: any of the following
  std::deque<std::function<void()>> pending_;
  Ticket issued_ = 0;
  Ticket finished_ = 0;
  std::string failure_;  // "" while the group is well
  bool stopping_ = false;
  std::thread server_;  // last: runs on all of the above
};

}  // namespace trainctl::comm
