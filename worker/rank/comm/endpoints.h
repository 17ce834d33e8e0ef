// The small texts and tables by which ranks find each other. What another rank said is checked
// before anybody connects to it. Each function throws CommError, which says what is wrong.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "worker/rank/comm/handshake.h"
#include "worker/rank/comm/socket.h"

namespace trainctl::comm {

// Where a rank listens. Refused: an address that does not fit or is no text, and port 0. `whose` is
// named in the error.
WireEndpoint ToWire(const Endpoint& endpoint);
Endpoint FromWire(const WireEndpoint& wire, const std::string& whose);

// Rank 0's blob: "address:port:secret", the secret in hex.
struct Invitation {
  Endpoint rank0;
  Secret secret{};
};
std::string ToBlob(const Invitation& invitation);
Invitation FromBlob(std::string_view blob);

// Whether a proven hello is of a rank from `first` to the world's last. Refused: it is of a group
// of another size.
bool IsOfGroup(const Hello& hello, int64_t first, int64_t world_size);

}  // namespace trainctl::comm
