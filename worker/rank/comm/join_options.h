// How a rank joins its group. The blob is opaque to everybody but this room: NCCL's unique id in
// hex, or on CPU "address:port:secret" of rank 0 (host_rendezvous.h).
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace trainctl::comm {

struct JoinOptions {
  bool cuda = false;  // NCCL on the current CUDA device, else the host backend
  int64_t rank = 0;
  int64_t world_size = 1;
  std::string bind_address = "127.0.0.1";  // an address of this host that the other ranks reach
  double timeout_seconds = 300;
  bool reads_peers = true;  // GPU ranks may read each other's memory (peer_shards.h)
  std::function<void(const std::string& blob)>
      publish;                              // rank 0: hands the blob to the coordinator
  std::function<std::string()> await_blob;  // others: blocks until the coordinator delivers it
};

}  // namespace trainctl::comm
