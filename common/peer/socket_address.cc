#include "common/peer/socket_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>

namespace trainctl::peer {
namespace {

constexpr std::array<uint8_t, 12> kV4Prefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

std::optional<Endpoint> Ask(decltype(getsockname)* ask, int file) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (ask(file, reinterpret_cast<sockaddr*>(&address), &size) != 0) return std::nullopt;
  return FromSocketAddress(address);
}

}  // namespace

int FamilyOf(const Endpoint& endpoint) {
  return std::equal(kV4Prefix.begin(), kV4Prefix.end(), endpoint.address.begin()) ? AF_INET
                                                                                  : AF_INET6;
}

socklen_t ToSocketAddress(const Endpoint& endpoint, sockaddr_storage* address) {
  if (FamilyOf(endpoint) == AF_INET) {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(endpoint.port);
    std::memcpy(&v4.sin_addr, &endpoint.address[kV4Prefix.size()], sizeof v4.sin_addr);
    std::memcpy(address, &v4, sizeof v4);
    return sizeof v4;
  }
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(endpoint.port);
  std::memcpy(&v6.sin6_addr, endpoint.address.data(), endpoint.address.size());
  std::memcpy(address, &v6, sizeof v6);
  return sizeof v6;
}

std::optional<Endpoint> FromSocketAddress(const sockaddr_storage& address) {
  Endpoint endpoint;
  if (address.ss_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &address, sizeof v4);
    endpoint.port = ntohs(v4.sin_port);
    std::copy(kV4Prefix.begin(), kV4Prefix.end(), endpoint.address.begin());
    std::memcpy(&endpoint.address[kV4Prefix.size()], &v4.sin_addr, sizeof v4.sin_addr);
    return endpoint;
  }
  if (address.ss_family != AF_INET6) return std::nullopt;
  sockaddr_in6 v6{};
  std::memcpy(&v6, &address, sizeof v6);
  endpoint.port = ntohs(v6.sin6_port);
  std::memcpy(endpoint.address.data(), &v6.sin6_addr, endpoint.address.size());
  return endpoint;
}

std::optional<Endpoint> OwnEnd(int file) { return Ask(getsockname, file); }
std::optional<Endpoint> OtherEnd(int file) { return Ask(getpeername, file); }

}  // namespace trainctl::peer
