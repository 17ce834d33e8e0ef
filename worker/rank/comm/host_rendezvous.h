// How CPU ranks find each other, without a port to agree on and without a stranger among them.
//
// Rank 0 listens on a port that the kernel chose and publishes the blob "address:port:secret" (the
// secret: 128 random bits in hex). Every other rank listens too, connects to rank 0 and says Hello:
// its rank, the world size, where it listens. It does both at its bind address, so that a host's
// data interface has the traffic. When all have, rank 0 sends each the table of these endpoints;
// rank r then connects to 1 … r − 1 and accepts r + 1 … n − 1, with the same Hello.
//
// Both ends of a connection prove to know the secret (handshake.h). Whoever connects and does not
// is closed and does not disturb the group; where the listener does not, the join fails. Traffic
// is neither encrypted nor authenticated after that: for networks that are trusted, as NCCL's.
#pragma once

#include <vector>

#include "worker/rank/comm/join_options.h"
#include "worker/rank/comm/socket.h"

namespace trainctl::comm {

// The largest group: the table of endpoints is bounded by it.
inline constexpr int64_t kMaxHostRanks = 1024;

// One connected socket for every other rank, by rank; the own entry is closed. Throws CommError
// naming what was waited for.
std::vector<Socket> JoinMesh(const JoinOptions& options);

}  // namespace trainctl::comm
