// TCP for the host backend: non-blocking sockets with TCP_NODELAY and keepalive, and the few
// blocking steps of the rendezvous, each under a deadline. Every function throws CommError, which
// names the other end and what the operating system said.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace trainctl::comm {

using Deadline = std::chrono::steady_clock::time_point;

struct Endpoint {
  std::string address;  // numeric IPv4 or IPv6
  uint16_t port = 0;
};

std::string ToString(const Endpoint& endpoint);

// Of errno, behind a call on a socket: try again when poll says so.
bool WouldBlock();

// Owns a file descriptor. Movable; Shutdown may come from any thread, the rest from one at a time.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept;
  ~Socket() { Close(); }

  int fd() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  // Both directions end, here and at the peer; the descriptor stays valid, so that a thread in poll
  // wakes instead of racing with its reuse.
  void Shutdown() const noexcept;

 private:
  void Close() noexcept;

  int fd_ = -1;
};

// Listens on a port that the kernel chose.
Socket Listen(const std::string& address);
uint16_t LocalPort(const Socket& socket);

// For poll, rounded up; 0: it has passed.
int MillisecondsUntil(Deadline deadline);

// A connection that is there; nullopt: none is.
std::optional<Socket> AcceptNow(const Socket& listener);
// From `own`, an address of this host, so that routes by source address keep to its interface. One
// of loopback reaches no other host: there the kernel chooses, as where it is empty.
Socket Connect(const Endpoint& endpoint, Deadline deadline, const std::string& own = "");

// All of the bytes, or CommError. peer names the other end in the error.
void SendAll(const Socket& socket, std::span<const std::byte> bytes, Deadline deadline,
             const std::string& peer);
void ReceiveAll(const Socket& socket, std::span<std::byte> bytes, Deadline deadline,
                const std::string& peer);

}  // namespace trainctl::comm
