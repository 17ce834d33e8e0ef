// GPU ranks: NCCL on CUDA tensors (sums of bf16, fp32, fp64, int64; all-gather and broadcast take
// any dtype), on one stream of the communicator's own from c10's pool (high priority: its kernels
// are few and others wait for them).
//
// NCCL adds in an order of its own choosing, and rounds bf16 sums between its steps: reproducible
// sums gather and add by themselves.
#pragma once

#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include <array>
#include <functional>
#include <memory>

#include "worker/rank/comm/communicator.h"
#include "worker/rank/comm/nccl_group.h"

namespace trainctl::comm {

// The blob is NCCL's unique id in hex.
std::unique_ptr<Communicator> JoinNccl(const JoinOptions& options);

class NcclCommunicator : public Communicator {
 public:
  NcclCommunicator(const JoinOptions& options, const ncclUniqueId& id, int device);
  ~NcclCommunicator() override;

  int64_t rank() const override { return rank_; }
  int64_t world_size() const override { return world_size_; }

  Ticket AllReduce(const at::Tensor& tensor) override;
  Ticket AllGather(const at::Tensor& output, const at::Tensor& input) override;
  Ticket ReduceScatter(const at::Tensor& output, const at::Tensor& input) override;
  Ticket Broadcast(const at::Tensor& tensor, int64_t root) override;
  void Wait(Ticket ticket) override;
  std::unique_ptr<SharedShards> MakeShards(const std::vector<int64_t>& numels,
                                           const at::TensorOptions& options) override;
  void CheckHealth() override { group_.CheckHealth(); }
  void Abort() noexcept override { group_.Abort(); }

  // Puts work on the communicator's stream, behind what the current stream holds; it touches these
  // tensors.
  using Work = std::function<void(cudaStream_t)>;
  Ticket Issue(std::initializer_list<at::Tensor> tensors, const Work& work);

 private:
  // The event of ticket t lies at t mod this. An event that a later collective took over is still
  // right to wait for, only later: the stream runs them in order.
  static constexpr size_t kEvents = 64;

  using Operation = std::function<ncclResult_t(ncclComm_t, cudaStream_t)>;
  Ticket Call(const char* name, std::initializer_list<at::Tensor> tensors,
              const Operation& operation);

  const int64_t rank_;
  const int64_t world_size_;
  const bool reads_peers_;
  const c10::cuda::CUDAStream stream_;
  std::array<cudaEvent_t, kEvents> finished_{};
  cudaEvent_t inputs_ready_ = nullptr;
  Ticket issued_ = 0;
  NcclGroup group_;
};

}  // namespace trainctl::comm
