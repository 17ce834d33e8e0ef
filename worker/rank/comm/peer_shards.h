// Shards of GPU ranks on one host, gathered by the GPUs' copy engines out of the peers' memory
// (CUDA IPC). NCCL's all-gather runs on multiprocessors instead, which matrix products then lack:
// measured on two H200s, products beside all-gathers of 50 MB take 7 % longer with NCCL, 1 % so.
//
// The peers do nothing for a gather. A Publish makes all ranks' streams meet, so that each rank
// reads what the others have written before it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "worker/rank/comm/nccl_communicator.h"
#include "worker/rank/comm/shared_shards.h"

namespace trainctl::comm {

class PeerShards : public SharedShards {
 public:
  // By copies where all ranks read each other's memory, and not more slowly than through NCCL; else
  // by NCCL. All ranks decide alike. The memory counts as any other of LibTorch's allocator. Before
  // it goes back to the driver (emptyCache), all ranks must have destroyed their object.
  static std::unique_ptr<SharedShards> Make(NcclCommunicator& comm,
                                            const std::vector<int64_t>& numels,
                                            const at::TensorOptions& options);

  void Publish() override;
  Communicator::Ticket Gather(size_t shard, const at::Tensor& output) override;

 private:
  // The first byte of a rank's buffer, which holds its shards one behind the other; mapped until
  // this is destroyed.
  using Buffers = std::vector<std::shared_ptr<const std::byte>>;

  PeerShards(NcclCommunicator& comm, std::vector<at::Tensor> shards, Buffers buffers);
  bool IsWorthIt(const at::Tensor& buffer);
  Communicator::Ticket Copy(size_t begin, size_t bytes, const at::Tensor& output);

  NcclCommunicator& comm_;
  const Buffers buffers_;  // by rank
  const at::Tensor meeting_;
};

}  // namespace trainctl::comm
