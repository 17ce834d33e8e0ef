// Whose a TCP connection over loopback is. The kernel records with every socket the user whose
// process made it. It tells that by netlink (socket_diag.h), and in /proc/net/tcp and tcp6: nobody
// else can write there, so the user is proven and not claimed.
//
// The record of a socket that is closing may show user 0. A record counts only while the connection
// stands, and only when a second look shows the same socket.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/result.h"

namespace trainctl::peer {

struct Endpoint {
  std::array<uint8_t, 16> address{};  // in network order; of IPv4 as ::ffff:127.0.0.1
  uint16_t port = 0;
};

// "127.0.0.1:7070", "[::1]:7070"; also as gRPC writes peers: "ipv4:127.0.0.1:7070",
// "ipv6:%5B::1%5D:7070". nullopt: none of these.
std::optional<Endpoint> ParseEndpoint(std::string_view text);
// "127.0.0.1:7070", "[::1]:7070".
std::string ToString(const Endpoint& endpoint);

struct SocketRecord {
  uid_t user = 0;
  uint64_t inode = 0;
  bool operator==(const SocketRecord&) const = default;
};

// Of the socket that has `local` as its own end of an established connection. `table`: the text of
// one of the kernel's. nullopt: there is none.
std::optional<SocketRecord> FindSocket(std::string_view table, const Endpoint& local,
                                       const Endpoint& remote);

// Whether a connection stands, seen from the end that is `local`: neither end has closed it.
bool Stands(const Endpoint& local, const Endpoint& remote);

// Of the text of a uid_map. Where it maps fewer, the overflow user stands for all the others.
bool MapsAllUsers(std::string_view uid_map);

// The user whose process made the client's end of a connection within this host. Both ends must
// stand before and after the look. kDenied: the kernel knows no such connection, it is closing, or
// our user namespace does not map the user. kIo: the tables can't be read.
base::Result<uid_t> OwnerOfSocket(const Endpoint& client, const Endpoint& server);

// The user's name; "uid:1234" where the system knows none.
std::string UserName(uid_t user);
// Whether some user has that name, as UserName tells it.
bool IsUserName(const std::string& name);

}  // namespace trainctl::peer
