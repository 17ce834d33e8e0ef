// Connections to a listener of this host, made only where a user who is trusted listens. A port
// that no coordinator has is free for any user of the host: whoever takes it must learn nothing
// and command nobody.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "common/base/result.h"
#include "common/peer/socket_owner.h"

namespace trainctl::peer {

// Of "127.0.0.1:7070", "localhost:7070" and names of this host's loopback, as the coordinator
// listens: localhost is 127.0.0.1. nullopt: it is not on loopback, so nobody can be proven there.
std::optional<Endpoint> FindLoopback(const std::string& address);

// Whose listeners are trusted: root's, our own, those of the account `trainctl` that deploy/systemd
// uses, and of a user who is named. Only root makes accounts.
bool IsTrusted(uid_t user, uid_t own, const std::string& also);

struct Connection {
  int file = -1;  // non-blocking; whoever gets this closes it
  Endpoint own, other;
};

struct DialOptions {
  std::string also_trusted;  // a user's name; empty: none
  std::string how_to_trust;  // of the error's last sentence: "--coordinator-user"
  std::chrono::milliseconds patience{2000};
};

// Connects, and waits until the other side has accepted and is proven; sends nothing. kUnavailable:
// nobody listens or accepts there. kDenied: it is a user who is not trusted.
base::Result<Connection> DialTrusted(const Endpoint& listener, const DialOptions& options);

}  // namespace trainctl::peer
