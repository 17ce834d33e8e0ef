#include "worker/rank/comm/newcomers.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "worker/rank/comm/comm_error.h"

namespace trainctl::comm {
namespace {

// A connection that has not proven what it is for this long is a stranger's.
constexpr std::chrono::seconds kPatience{5};
constexpr int64_t kStrangers = 128;  // at the same time, beside a whole group

bool Send(const Socket& socket, const Answer& answer) {
  return send(socket.fd(), &answer, sizeof answer, MSG_NOSIGNAL) ==
         static_cast<ssize_t>(sizeof answer);
}

Nonce NewNonce() {
  Nonce nonce;
  FillRandom(nonce);
  return nonce;
}

}  // namespace

Newcomers::Newcomers(const Socket& listener, const Secret& secret, int64_t own, int64_t world_size)
    : listener_(listener),
      secret_(secret),
      own_(own),
      most_(static_cast<size_t>(kStrangers + world_size)) {}

Newcomers::Proven Newcomers::Next(Deadline deadline) {
  for (;;) {
    for (auto each = newcomers_.begin(); each != newcomers_.end();) {
      const State state = Hear(*each);
      if (state == State::kProven) {
        Proven proven{each->greeting.hello(), std::move(each->socket)};
        newcomers_.erase(each);
        return proven;
      }
      const bool is_over =
          state == State::kGone || std::chrono::steady_clock::now() >= each->patience;
      each = is_over ? newcomers_.erase(each) : std::next(each);
    }
    AwaitWords(deadline);
    TakeIn();
  }
}

// Of somebody who is there or comes, or the end of somebody's patience.
void Newcomers::AwaitWords(Deadline deadline) const {
  std::vector<pollfd> entries = {{listener_.fd(), POLLIN, 0}};
  Deadline until = deadline;
  for (const Newcomer& newcomer : newcomers_) {
    entries.push_back({newcomer.socket.fd(), POLLIN, 0});
    until = std::min(until, newcomer.patience);
  }
  if (poll(entries.data(), entries.size(), MillisecondsUntil(until)) < 0 && errno != EINTR) {
    throw CommError(std::string("accepting a connection: ") + std::strerror(errno));
  }
  if (std::chrono::steady_clock::now() >= deadline) {
    throw CommError("accepting a connection: no answer in time");
  }
}

void Newcomers::TakeIn() {
  while (std::optional<Socket> socket = AcceptNow(listener_)) {
    if (newcomers_.size() >= most_) {
      newcomers_.pop_front();
    }
    newcomers_.push_back({std::move(*socket), std::chrono::steady_clock::now() + kPatience,
                          Greeting(secret_, NewNonce(), own_)});
  }
}

// Its words as far as they are there. A new connection has room for the answer.
Newcomers::State Newcomers::Hear(Newcomer& newcomer) {
  Greeting& greeting = newcomer.greeting;
  for (;;) {
    const std::span<std::byte> next = greeting.Next();
    const ssize_t size = recv(newcomer.socket.fd(), next.data(), next.size(), 0);
    if (size < 0 && WouldBlock()) {
      return State::kSilent;
    }
    if (size <= 0) {
      return State::kGone;
    }
    switch (greeting.Heard(static_cast<size_t>(size))) {
      case Greeting::State::kMore: break;
      case Greeting::State::kHello:
        if (!Send(newcomer.socket, greeting.answer())) return State::kGone;
        break;
      case Greeting::State::kProven: return State::kProven;
      case Greeting::State::kRefused: return State::kGone;
    }
  }
}

}  // namespace trainctl::comm
