// Endpoints as the system's calls about sockets want them.
#pragma once

#include <sys/socket.h>

#include <optional>

#include "common/peer/socket_owner.h"

namespace trainctl::peer {

// AF_INET of an IPv4 address, else AF_INET6.
int FamilyOf(const Endpoint& endpoint);
// The size of what it fills in.
socklen_t ToSocketAddress(const Endpoint& endpoint, sockaddr_storage* address);
// nullopt: neither IPv4 nor IPv6.
std::optional<Endpoint> FromSocketAddress(const sockaddr_storage& address);

// The two ends of a socket that is connected. One that listens has its own.
std::optional<Endpoint> OwnEnd(int file);
std::optional<Endpoint> OtherEnd(int file);

}  // namespace trainctl::peer
