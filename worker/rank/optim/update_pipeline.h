// Updates in host memory while the device goes on, chunk by chunk. The gradient comes from the
// device, a pool of threads runs the optimizer over it, and the parameters go back. All three
// happen at once for different chunks. A thread of its own drives it.
//
// Bounds: at most two gradients are alive, the one that is being fetched and the next; Enqueue
// waits for room. Staging memory is the ring of ChunkTransfer. Updates, and the chunks of each, are
// done in order.
//
// Enqueue and Finish are called from one thread. Errors of the background (c10::Error) are thrown
// by the next call, and all later ones.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "worker/rank/optim/chunk_transfer.h"
#include "worker/rank/optim/tile_pool.h"

namespace trainctl::optim {

class UpdatePipeline {
 public:
  // threads: of the pool, which run on the CPUs of the rank. kernel: of adam_kernel.h.
  UpdatePipeline(c10::Device device, int64_t threads, AdamKernel kernel,
                 std::unique_ptr<ChunkTransfer> transfer);
  // What was enqueued is done first.
  ~UpdatePipeline();

  // The pipeline's references are the only ones that it needs: the gradient is freed as soon as it
  // has been read.
  void Enqueue(std::shared_ptr<HostUpdate> update);
  // All updates are made, as the current stream sees it.
  void Finish();

 private:
  struct Computing {
    Chunk chunk;
    size_t slot;
    TilePool::Ticket ticket;
  };
  struct Fetching {
    Chunk chunk;
    size_t slot;
  };

  void Run();
  bool FillRing();
  std::optional<Chunk> NextChunk(bool may_wait);
  void Compute();
  void Complete();
  void ReleaseGrad(const Chunk& chunk);
  void Fail();
  void ThrowIfFailed() const;

  const c10::Device device_;
  const AdamKernel kernel_;
  const std::unique_ptr<ChunkTransfer> transfer_;
  TilePool pool_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<HostUpdate>> waiting_;
  int64_t gradients_ = 0;   // alive
  int64_t unfinished_ = 0;  // updates
  bool stopping_ = false;
  std::exception_ptr error_;

  // of the pipeline's thread
  std::shared_ptr<HostUpdate> current_;
  int64_t next_begin_ = 0;
  size_t next_slot_ = 0;
  std::deque<Fetching> fetching_;
  std::deque<Computing> computing_;

  std::thread thread_;
};

}  // namespace trainctl::optim
