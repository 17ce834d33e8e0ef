#include "common/peer/dial.h"

#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "common/peer/open_file.h"
#include "common/peer/socket_address.h"

namespace trainctl::peer {
namespace {

constexpr const char* kServiceAccount = "trainctl";
constexpr auto kBetweenLooks = std::chrono::milliseconds(2);
constexpr size_t kFirstOfV4 = 12;  // of an IPv4 address in one of IPv6
constexpr uint8_t kLoopbackNet = 127;
constexpr const char* kNotTaken =
    "who listens there takes no connections: it is stopped, or very busy";
constexpr const char* kClosedAtOnce =
    "the connection was closed at once: your programs may have too many open";
using Clock = std::chrono::steady_clock;

bool IsLoopback(const Endpoint& endpoint) {
  if (FamilyOf(endpoint) == AF_INET) return endpoint.address[kFirstOfV4] == kLoopbackNet;
  return std::memcmp(endpoint.address.data(), &in6addr_loopback, endpoint.address.size()) == 0;
}

base::Error Unreachable(const Endpoint& listener, const std::string& why) {
  return {base::Code::kUnavailable, ToString(listener) + ": " + why};
}

base::Status Connect(int file, const Endpoint& listener, std::chrono::milliseconds patience) {
  sockaddr_storage address{};
  const socklen_t size = ToSocketAddress(listener, &address);
  if (connect(file, reinterpret_cast<sockaddr*>(&address), size) == 0) return base::Ok{};
  if (errno != EINPROGRESS) return Unreachable(listener, std::strerror(errno));
  pollfd ready{file, POLLOUT, 0};
  if (poll(&ready, 1, static_cast<int>(patience.count())) != 1)
    return Unreachable(listener, kNotTaken);
  int error = 0;
  socklen_t error_size = sizeof error;
  if (getsockopt(file, SOL_SOCKET, SO_ERROR, &error, &error_size) != 0) error = errno;
  if (error != 0)
    return Unreachable(listener, error == ECONNRESET ? kClosedAtOnce : std::strerror(error));
  return base::Ok{};
}

// Until it is accepted, the other end is no process's.
base::Result<uid_t> WaitForOwner(const Connection& connection, std::chrono::milliseconds patience) {
  const auto end = Clock::now() + patience;
  while (true) {
    auto owner = OwnerOfSocket(connection.other, connection.own);
    if (owner || owner.error().code != base::Code::kDenied) return owner;
    const bool stands = Stands(connection.own, connection.other);
    if (stands && Stands(connection.other, connection.own) && Clock::now() >= end)
      return owner;  // it is accepted, and yet nobody's that we know
    if (!stands) return Unreachable(connection.other, kClosedAtOnce);
    if (Clock::now() >= end) return Unreachable(connection.other, kNotTaken);
    poll(nullptr, 0, static_cast<int>(kBetweenLooks.count()));
  }
}

base::Error Stranger(const Endpoint& listener, uid_t user, const DialOptions& options) {
  return {base::Code::kDenied, ToString(listener) + ": user '" + UserName(user) +
                                   "' listens there, who is neither root nor you (" +
                                   UserName(geteuid()) +
                                   "): nothing was sent. If that is your coordinator, say " +
                                   options.how_to_trust + UserName(user)};
}

}  // namespace

std::optional<Endpoint> FindLoopback(const std::string& address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos) return std::nullopt;
  const std::string port = address.substr(colon);
  std::string host = address.substr(0, colon);
  if (host == "localhost") host = "127.0.0.1";
  std::optional<Endpoint> found = ParseEndpoint(host + port);
  if (!found) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* first = nullptr;
    if (getaddrinfo(host.c_str(), nullptr, &hints, &first) != 0) return std::nullopt;
    char text[NI_MAXHOST];
    if (getnameinfo(first->ai_addr, first->ai_addrlen, text, sizeof text, nullptr, 0,
                    NI_NUMERICHOST) == 0) {
      const std::string numeric = text;
      const bool is_v6 = numeric.find(':') != std::string::npos;
      found = ParseEndpoint((is_v6 ? "[" + numeric + "]" : numeric) + port);
    }
    freeaddrinfo(first);
  }
  return found && IsLoopback(*found) ? found : std::nullopt;
}

bool IsTrusted(uid_t user, uid_t own, const std::string& also) {
  if (user == 0 || user == own) return true;
  const std::string name = UserName(user);
  return name == kServiceAccount || (!also.empty() && name == also);
}

base::Result<Connection> DialTrusted(const Endpoint& listener, const DialOptions& options) {
  OpenFile file(socket(FamilyOf(listener), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (file.get() < 0) return Unreachable(listener, std::strerror(errno));
  const base::Status connected = Connect(file.get(), listener, options.patience);
  if (!connected) return connected.error();
  const auto own = OwnEnd(file.get());
  if (!own) return Unreachable(listener, "the connection's own address is not known");
  Connection connection{.own = *own, .other = listener};
  const auto owner = WaitForOwner(connection, options.patience);
  if (!owner) return owner.error();
  if (!IsTrusted(*owner, geteuid(), options.also_trusted))
    return Stranger(listener, *owner, options);
  connection.file = file.Take();
  return connection;
}

}  // namespace trainctl::peer
