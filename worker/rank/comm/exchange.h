// Moving bytes between one rank and all its peers at once, in both directions. Nobody waits for a
// peer to read before reading what that peer sends. So any pattern of sends and receives that
// matches between the ranks completes.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "worker/rank/comm/socket.h"

namespace trainctl::comm {

// What goes to and comes from one peer, in this order. Consumed by Exchange.
struct Traffic {
  std::array<std::span<const std::byte>, 2> send;
  std::array<std::span<std::byte>, 2> receive;
};

// Returns when all of it is sent (handed to the kernel) and received. traffic[r] belongs to
// peers[r]. A peer that closes its connection before its part is done is a CommError at once. There
// is no deadline: a peer may still be computing.
void Exchange(std::span<const Socket> peers, std::span<Traffic> traffic);

}  // namespace trainctl::comm
