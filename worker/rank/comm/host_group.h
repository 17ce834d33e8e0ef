// The collectives of CPU ranks over a mesh of TCP connections (host_rendezvous.h), on plain memory,
// blocking. No LibTorch here, so that the sanitizers see all of it; host_communicator.h puts
// tensors and a thread around it.
//
// AllReduce is a reduce-scatter to owners and an all-gather, pipelined in chunks. Every rank sends
// and receives 2·(n − 1)/n of the data, whatever n is. It holds (n − 1) chunks of scratch memory.
//
// Before its data, each collective exchanges a header (what, how much, of which type, the
// how-many-th) with every peer. Ranks that do not call the same collective find out there, before a
// byte of data is misread.
//
// One thread calls the collectives; Abort may come from any. All throw CommError: a lost peer,
// ranks that disagree, an aborted group. After the first error the connections are ended, so that
// it reaches every rank, and each later collective fails.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "worker/rank/comm/exchange.h"
#include "worker/rank/comm/rank_order_sum.h"
#include "worker/rank/comm/socket.h"

namespace trainctl::comm {

class HostGroup {
 public:
  // peers[r] is connected to rank r; the own entry is closed.
  HostGroup(int64_t rank, std::vector<Socket> peers);

  int64_t rank() const { return rank_; }
  int64_t world_size() const { return static_cast<int64_t>(peers_.size()); }

  void AllReduce(std::byte* data, size_t count, Element element);
  // output = world_size × bytes; input may be the own part of output.
  void AllGather(std::byte* output, const std::byte* input, size_t bytes);
  // input = world_size × count elements; output may be the own part of input.
  void ReduceScatter(std::byte* output, const std::byte* input, size_t count, Element element);
  void Broadcast(std::byte* data, size_t bytes, int64_t root);

  void Abort() noexcept;

 private:
  struct Header;
  struct Shards;

  template <class Collective>
  void Run(Header header, Collective collective);
  void Agree(const Header& header);
  void ReduceToOwners(const std::byte* input, std::byte* own_sum, const Shards& shards,
                      Element element, std::byte* gathered);
  void SumChunk(const std::byte* own, std::byte* sum, size_t bytes, Element element);
  std::vector<Traffic> NoTraffic() const { return std::vector<Traffic>(peers_.size()); }
  bool IsPeer(size_t r) const { return r != static_cast<size_t>(rank_); }

  const int64_t rank_;
  const std::vector<Socket> peers_;
  std::atomic<bool> aborted_ = false;
  uint64_t sequence_ = 0;
  std::vector<std::vector<std::byte>> scratch_;  // one chunk of each peer
};

}  // namespace trainctl::comm
