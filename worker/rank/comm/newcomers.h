// Who connects to a rank's listener, until they have proven that they are of the group. All are
// heard at the same time: one that is silent holds up nobody, and is dropped after a while.
#pragma once

#include <list>

#include "worker/rank/comm/greeting.h"
#include "worker/rank/comm/socket.h"

namespace trainctl::comm {

class Newcomers {
 public:
  // Of the rank `own`, in a group of `world_size`. The listener outlives it.
  Newcomers(const Socket& listener, const Secret& secret, int64_t own, int64_t world_size);

  struct Proven {
    Hello hello;
    Socket socket;
  };
  // The next that proves to know the secret; CommError at the deadline.
  Proven Next(Deadline deadline);

 private:
  struct Newcomer {
    Socket socket;
    Deadline patience;
    Greeting greeting;
  };
  enum class State : uint8_t { kSilent, kGone, kProven };

  void AwaitWords(Deadline deadline) const;
  void TakeIn();
  static State Hear(Newcomer& newcomer);

  const Socket& listener_;
  const Secret secret_;
  const int64_t own_;
  const size_t most_;              // at the same time; the oldest one makes room
  std::list<Newcomer> newcomers_;  // the oldest first
};

}  // namespace trainctl::comm
