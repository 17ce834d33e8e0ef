// This rank's shards of a model's units, which all ranks gather again and again while they change
// seldom. Each rank has as many shards, of the same sizes. Publish and Gather are collectives
// (communicator.h): all ranks call them in the same order. Not thread-safe.
//
// A gather may read a peer's shard without its taking part (peer_shards.h). So a rank writes to a
// shard only when no rank gathers it any more before the next Publish. A sum over all ranks tells
// it: the shard's gradient, to which each adds after its last gather.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <utility>
#include <vector>

#include "worker/rank/comm/communicator.h"

namespace trainctl::comm {

class SharedShards {
 public:
  virtual ~SharedShards() = default;
  // 1-D, zeros at first; one without elements is never gathered.
  const std::vector<at::Tensor>& shards() const { return shards_; }

  // What the current stream has written to the shards until now is what later gathers see.
  virtual void Publish() = 0;
  // output = world_size × shard, in rank order.
  virtual Communicator::Ticket Gather(size_t shard, const at::Tensor& output) = 0;

 protected:
  explicit SharedShards(std::vector<at::Tensor> shards) : shards_(std::move(shards)) {}

 private:
  std::vector<at::Tensor> shards_;
};

// By the communicator's AllGather, in which every rank takes part.
class CollectiveShards : public SharedShards {
 public:
  CollectiveShards(Communicator& comm, std::vector<at::Tensor> shards)
      : SharedShards(std::move(shards)), comm_(comm) {}

  void Publish() override {}
  Communicator::Ticket Gather(size_t shard, const at::Tensor& output) override {
    return comm_.AllGather(output, shards()[shard]);
  }

 private:
  Communicator& comm_;
};

}  // namespace trainctl::comm
