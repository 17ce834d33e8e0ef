// How a chunk of a gradient comes to where the CPU can read it. The updated parameters go back to
// the device the same way. A ring of slots: slot s of kSlots is used again only after Return(s).
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/cuda/CUDAEvent.h>

#include <cstdint>
#include <memory>

#include "worker/rank/optim/adam_kernel.h"

namespace trainctl::optim {

// One buffer to update. fp32 tensors in host memory, and the device's.
struct HostUpdate {
  at::Tensor master, first, second;  // fp32, in host memory
  at::Tensor grad;                   // bf16 or fp32, on the device
  at::Tensor compute;                // bf16 or fp32, on the device; undefined: none
  at::Tensor grad_scale;             // fp32 scalar on the device; undefined: 1
  AdamRule rule;                     // but for grad_scale
  at::cuda::CUDAEvent ready;         // the gradient is there, and nobody reads `compute` any more
};

// Elements [begin, begin + count) of an update.
struct Chunk {
  std::shared_ptr<HostUpdate> update;
  int64_t begin = 0;
  int64_t count = 0;
  bool last = false;
};

class ChunkTransfer {
 public:
  static constexpr size_t kSlots = 4;
  static constexpr int64_t kGradBytes = 8 << 20;  // of a chunk

  virtual ~ChunkTransfer() = default;

  // On the caller's thread.

  // What the caller's current stream has been asked for comes first.
  virtual void MarkReady(HostUpdate& update) = 0;
  // The caller's current stream waits for all that was returned.
  virtual void Join() = 0;

  // On the pipeline's thread, slots in turn.

  // Begins to bring the gradient.
  virtual void Fetch(size_t slot, const Chunk& chunk) = 0;
  // Waits for it. The chunk for the kernel, and what its gradient is multiplied by.
  struct Fetched {
    AdamTile tile;
    float grad_scale = 1;
  };
  virtual Fetched Await(size_t slot, const Chunk& chunk) = 0;
  // Begins to send the updated parameters.
  virtual void Return(size_t slot, const Chunk& chunk) = 0;
  // Whether the gradient is a copy, so that the device's own is not needed after Await.
  virtual bool copies() const = 0;
};

// For one device: staged through pinned memory on two streams of its own beside a GPU, in place on
// a CPU slot. Errors: HostMemoryError, c10::Error.
std::unique_ptr<ChunkTransfer> MakeChunkTransfer(c10::Device device);

}  // namespace trainctl::optim
