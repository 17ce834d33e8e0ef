// Chunks between a GPU and pinned staging memory: gradients down on one stream, parameters up on
// another, both beside the compute stream. bf16 parameters are staged; fp32 ones go up from the
// master itself.
#pragma once

#include <cuda_runtime_api.h>

#include <array>

#include "worker/rank/optim/chunk_transfer.h"
#include "worker/rank/optim/host_block.h"

namespace trainctl::optim {

class CudaTransfer : public ChunkTransfer {
 public:
  explicit CudaTransfer(c10::Device device);
  ~CudaTransfer() override;

  void MarkReady(HostUpdate& update) override;
  void Join() override;
  void Fetch(size_t slot, const Chunk& chunk) override;
  Fetched Await(size_t slot, const Chunk& chunk) override;
  void Return(size_t slot, const Chunk& chunk) override;
  bool copies() const override { return true; }

 private:
  static constexpr int64_t kOutBytes = kGradBytes;  // bf16, as many as gradients at most
  static constexpr int64_t kScaleBytes = 4096;      // keeps slots page-aligned
  static constexpr int64_t kSlotBytes = kGradBytes + kOutBytes + kScaleBytes;

  char* Grad(size_t slot) const {
    return static_cast<char*>(staging_.data()) + static_cast<int64_t>(slot) * kSlotBytes;
  }
  char* Out(size_t slot) const { return Grad(slot) + kGradBytes; }
  float* Scale(size_t slot) const { return reinterpret_cast<float*>(Out(slot) + kOutBytes); }

  HostBlock staging_;
  cudaStream_t down_ = nullptr, up_ = nullptr;
  std::array<cudaEvent_t, kSlots> fetched_{}, returned_{};
  cudaEvent_t all_returned_ = nullptr;
};

}  // namespace trainctl::optim
