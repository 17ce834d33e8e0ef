#include "worker/rank/comm/socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "worker/rank/comm/comm_error.h"

namespace trainctl::comm {
namespace {

[[noreturn]] void Fail(const std::string& what, int error_number = errno) {
  throw CommError(what + ": " + std::strerror(error_number));
}

using AddressList = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

AddressList Resolve(const std::string& address, uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) {
    throw CommError("'" + address + "' is no numeric IP address: " + gai_strerror(error));
  }
  return {found, &freeaddrinfo};
}

Socket Open(const addrinfo& address) {
  Socket socket(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.is_open()) {
    Fail("cannot open a socket");
  }
  return socket;
}

void Set(const Socket& socket, int level, int option, int value) {
  setsockopt(socket.fd(), level, option, &value, sizeof(value));
}

// A peer's host that vanishes without a word is noticed after a minute, idle (idle + count ×
// interval) or not. TCP waits twice as long before each try as before the last one: a cut of 25 s
// has ended before one of them, whatever a round trip takes, up to 10 s.
void Tune(const Socket& socket) {
  Set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  Set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  Set(socket, IPPROTO_TCP, TCP_KEEPIDLE, 10);
  Set(socket, IPPROTO_TCP, TCP_KEEPINTVL, 5);
  Set(socket, IPPROTO_TCP, TCP_KEEPCNT, 10);
  Set(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, 60'000);
}

void AwaitReady(const Socket& socket, short events, Deadline deadline, const std::string& what) {
  pollfd entry{socket.fd(), events, 0};
  for (;;) {
    const int ready = poll(&entry, 1, MillisecondsUntil(deadline));
    if (ready > 0) {
      return;
    }
    if (ready == 0) {
      throw CommError(what + ": no answer in time");
    }
    if (errno != EINTR) {
      Fail(what);
    }
  }
}

bool IsLoopback(const std::string& address) {
  return address.starts_with("127.") || address == "::1";
}

// The port is chosen at connect: then sockets to other endpoints may share it.
void BindFrom(const Socket& socket, const std::string& own) {
  const AddressList list = Resolve(own, 0);
  Set(socket, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
  if (bind(socket.fd(), list->ai_addr, list->ai_addrlen) != 0) {
    Fail("cannot connect from " + own + " (is it an address of this host?)");
  }
}

}  // namespace

bool WouldBlock() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

int MillisecondsUntil(Deadline deadline) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now())
          .count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, 3'600'000));
}

std::string ToString(const Endpoint& endpoint) {
  const bool is_ipv6 = endpoint.address.find(':') != std::string::npos;
  return (is_ipv6 ? "[" + endpoint.address + "]" : endpoint.address) + ":" +
         std::to_string(endpoint.port);
}

Socket& Socket::operator=(Socket&& other) noexcept {
  if (this != &other) {
    Close();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

void Socket::Shutdown() const noexcept {
  if (is_open()) {
    ::shutdown(fd_, SHUT_RDWR);
  }
}

void Socket::Close() noexcept {
  if (is_open()) {
    ::close(fd_);
    fd_ = -1;
  }
}

Socket Listen(const std::string& address) {
  const AddressList list = Resolve(address, 0);
  Socket socket = Open(*list);
  if (bind(socket.fd(), list->ai_addr, list->ai_addrlen) != 0) {
    Fail("cannot bind " + address + " (is it an address of this host?)");
  }
  if (listen(socket.fd(), SOMAXCONN) != 0) {
    Fail("cannot listen on " + address);
  }
  return socket;
}

uint16_t LocalPort(const Socket& socket) {
  sockaddr_storage address{};
  socklen_t length = sizeof(address);
  if (getsockname(socket.fd(), reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    Fail("cannot read a socket's own address");
  }
  const auto port = address.ss_family == AF_INET6
                        ? reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port
                        : reinterpret_cast<const sockaddr_in*>(&address)->sin_port;
  return ntohs(port);
}

std::optional<Socket> AcceptNow(const Socket& listener) {
  for (;;) {
    Socket socket(accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.is_open()) {
      Tune(socket);
      return socket;
    }
    if (WouldBlock()) {
      return std::nullopt;
    }
    if (errno != ECONNABORTED) {
      Fail("accepting a connection");
    }
  }
}

Socket Connect(const Endpoint& endpoint, Deadline deadline, const std::string& own) {
  const std::string what =
      "connecting to " + ToString(endpoint) + (own.empty() ? "" : " from " + own);
  const AddressList list = Resolve(endpoint.address, endpoint.port);
  Socket socket = Open(*list);
  Tune(socket);
  if (!own.empty() && (!IsLoopback(own) || IsLoopback(endpoint.address))) {
    BindFrom(socket, own);
  }
  if (connect(socket.fd(), list->ai_addr, list->ai_addrlen) == 0) {
    return socket;
  }
  if (errno != EINPROGRESS) {
    Fail(what);
  }
  AwaitReady(socket, POLLOUT, deadline, what);
  int error = 0;
  socklen_t length = sizeof(error);
  getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &error, &length);
  if (error != 0) {
    Fail(what, error);
  }
  return socket;
}

void SendAll(const Socket& socket, std::span<const std::byte> bytes, Deadline deadline,
             const std::string& peer) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes = bytes.subspan(static_cast<size_t>(sent));
    } else if (WouldBlock()) {
      AwaitReady(socket, POLLOUT, deadline, "sending to " + peer);
    } else {
      Fail("sending to " + peer);
    }
  }
}

void ReceiveAll(const Socket& socket, std::span<std::byte> bytes, Deadline deadline,
                const std::string& peer) {
  while (!bytes.empty()) {
    const ssize_t received = recv(socket.fd(), bytes.data(), bytes.size(), 0);
    if (received > 0) {
      bytes = bytes.subspan(static_cast<size_t>(received));
    } else if (received == 0) {
      throw CommError(peer + " closed the connection");
    } else if (WouldBlock()) {
      AwaitReady(socket, POLLIN, deadline, "receiving from " + peer);
    } else {
      Fail("receiving from " + peer);
    }
  }
}

}  // namespace trainctl::comm
