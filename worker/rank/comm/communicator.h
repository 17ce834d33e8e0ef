// A group of ranks and its collectives, the same over NCCL (GPUs) and over TCP (CPU slots:
// host_communicator.h). All ranks must call the same collectives in the same order with equal sizes
// and dtypes. Not thread-safe: one thread drives a communicator, but Abort may come from any
// thread.
//
// A collective first waits for what the caller's current stream holds. Then it runs on the
// communicator's own stream, so that it overlaps whatever the caller enqueues next. Wait(ticket)
// makes the current stream (on CPU: the caller) wait for it. Tensors must be contiguous, and stay
// alive and untouched until then: after Wait the caching allocator may give their memory to the
// current stream again. (Recording the communicator's stream with the allocator instead would hold
// memory back until events have passed: 8 GiB in a 7B run.)
//
// Sums are in rank order on CPU: ((r0 + r1) + r2) + …, so n ranks equal n micro batches bit for bit
// in fp32. NCCL chooses its own order.
//
// Errors: a lost peer, a failed or aborted collective throws CommError.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "worker/rank/comm/comm_error.h"
#include "worker/rank/comm/join_options.h"

namespace trainctl::comm {

class SharedShards;

class Communicator {
 public:
  using Ticket = uint64_t;

  virtual ~Communicator() = default;
  virtual int64_t rank() const = 0;
  virtual int64_t world_size() const = 0;

  virtual Ticket AllReduce(const at::Tensor& tensor) = 0;  // sum, in place
  virtual Ticket AllGather(
      const at::Tensor& output,
      const at::Tensor& input) = 0;  // output = world_size × input, in rank order
  virtual Ticket ReduceScatter(const at::Tensor& output,
                               const at::Tensor& input) = 0;  // sum; input = world_size × output
  virtual Ticket Broadcast(const at::Tensor& tensor, int64_t root) = 0;
  virtual void Wait(Ticket ticket) = 0;
  // Shards of these numbers of elements, to be gathered again and again (shared_shards.h); this
  // outlives them. A collective.
  virtual std::unique_ptr<SharedShards> MakeShards(const std::vector<int64_t>& numels,
                                                   const at::TensorOptions& options);
  // Throws CommError where a collective failed in the background. Cheap: called once a step.
  virtual void CheckHealth() = 0;
  // Makes pending and later collectives fail; returns within a few seconds even where the transport
  // hangs. From any thread.
  virtual void Abort() noexcept = 0;
};

// Joins the group; a world of one needs no rendezvous. Throws CommError naming what was waited for.
std::unique_ptr<Communicator> Join(const JoinOptions& options);

}  // namespace trainctl::comm
