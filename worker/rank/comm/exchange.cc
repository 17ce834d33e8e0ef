#include "worker/rank/comm/exchange.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "worker/rank/comm/comm_error.h"

namespace trainctl::comm {
namespace {

[[noreturn]] void Lost(size_t rank, const std::string& why) {
  throw CommError("lost rank " + std::to_string(rank) + ": " + why);
}

template <class Span>
Span* FirstUnfinished(std::array<Span, 2>& segments) {
  for (Span& segment : segments) {
    if (!segment.empty()) {
      return &segment;
    }
  }
  return nullptr;
}

// One send, if there is something to send and the kernel takes it. True where bytes moved.
bool Send(const Socket& peer, size_t rank, Traffic& traffic) {
  auto* segment = FirstUnfinished(traffic.send);
  if (segment == nullptr) {
    return false;
  }
  const ssize_t sent = send(peer.fd(), segment->data(), segment->size(), MSG_NOSIGNAL);
  if (sent < 0 && !WouldBlock()) {
    Lost(rank, std::strerror(errno));
  }
  *segment = segment->subspan(sent > 0 ? static_cast<size_t>(sent) : 0);
  return sent > 0;
}

bool Receive(const Socket& peer, size_t rank, Traffic& traffic) {
  auto* segment = FirstUnfinished(traffic.receive);
  if (segment == nullptr) {
    return false;
  }
  const ssize_t received = recv(peer.fd(), segment->data(), segment->size(), 0);
  if (received == 0) {
    Lost(rank, "it closed the connection");
  }
  if (received < 0 && !WouldBlock()) {
    Lost(rank, std::strerror(errno));
  }
  *segment = segment->subspan(received > 0 ? static_cast<size_t>(received) : 0);
  return received > 0;
}

// What poll has to watch. A peer with nothing left is not watched (fd −1): it may be done with the
// whole collective and leave the group. Empty where all is done.
std::vector<pollfd> Unfinished(std::span<const Socket> peers, std::span<Traffic> traffic) {
  std::vector<pollfd> entries(peers.size());
  bool done = true;
  for (size_t rank = 0; rank < peers.size(); ++rank) {
    const bool sends = FirstUnfinished(traffic[rank].send) != nullptr;
    const bool receives = FirstUnfinished(traffic[rank].receive) != nullptr;
    const int fd = sends || receives ? peers[rank].fd() : -1;
    entries[rank] = {
        fd, static_cast<short>((sends ? POLLOUT : 0) | (receives ? POLLIN : 0) | POLLRDHUP), 0};
    done = done && fd < 0;
  }
  return done ? std::vector<pollfd>() : entries;
}

// Blocks until some peer can go on. Where bytes are still expected the end of the connection shows
// in Receive, after the last of them; a peer that ended while it should still take bytes is lost.
void AwaitProgress(std::vector<pollfd>& entries) {
  if (poll(entries.data(), entries.size(), -1) < 0) {
    if (errno != EINTR) {
      throw CommError(std::string("waiting for peers: ") + std::strerror(errno));
    }
    return;
  }
  for (size_t rank = 0; rank < entries.size(); ++rank) {
    const pollfd& entry = entries[rank];
    const bool ended = (entry.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL)) != 0;
    if (ended && (entry.events & POLLIN) == 0) {
      Lost(rank, "its connection ended");
    }
  }
}

}  // namespace

void Exchange(std::span<const Socket> peers, std::span<Traffic> traffic) {
  for (;;) {
    bool moved = false;
    for (size_t rank = 0; rank < peers.size(); ++rank) {
      if (peers[rank].is_open()) {
        moved |= Send(peers[rank], rank, traffic[rank]);
        moved |= Receive(peers[rank], rank, traffic[rank]);
      }
    }
    if (moved) {
      continue;
    }
    auto entries = Unfinished(peers, traffic);
    if (entries.empty()) {
      return;
    }
    AwaitProgress(entries);
  }
}

}  // namespace trainctl::comm
