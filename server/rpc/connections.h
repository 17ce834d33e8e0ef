// The connections of the ports: whose each is, and how many a Unix user may have, so that nobody
// takes the descriptors of all. Over TLS nobody is known yet: an address has the bound of a user.
//
// A connection is called by its descriptor, as gRPC calls the peer of its calls: "fd:12". gRPC
// holds the descriptor until the last call of the connection is gone. So a call is never taken for
// one of a later connection, whoever has the client's port by then. Thread-safe.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/result.h"
#include "server/auth/unix_policy.h"

namespace trainctl::rpc {

struct Connection {
  std::string address;                // the client's: "127.0.0.1:40312"
  base::Result<auth::UnixUser> user;  // or why it is not known
  bool tls = false;                   // then only its calls say whose it is
};

class Connections {
 public:
  struct Bounds {
    size_t of_user = 256;
    size_t beyond = 16;   // of a user: so many more are told why they are refused
    size_t all = 16'384;  // the users whose programs may be workers have no bound but this
  };

  Connections(auth::UnixPolicy policy, const Bounds& bounds)
      : policy_(std::move(policy)), bounds_(bounds) {}

  // Before gRPC gets the descriptor. false: there are too many; it is to be closed.
  bool Add(int file, Connection connection);
  // Of a call's peer. kDenied: no connection of the port. kExhausted: as many older ones of its
  // user are open as may be.
  base::Result<Connection> Find(std::string_view peer);
  // Open ones, and those whose end was not noticed yet.
  size_t size() const;

 private:
  struct Entry {
    Connection connection;
    std::string whose;  // a user or an address
    uint64_t number;    // counts up
    uint64_t cookie;    // the kernel's name of the socket
    bool bounded;
  };
  using OfUser = std::map<uint64_t, int>;  // the descriptors, by number

  size_t BoundOf(const Entry& entry) const;
  bool IsBeyond(const Entry& entry) const;  // as many older ones of its user as may be
  void Forget(int file);
  void ForgetClosed(const std::string& whose);

  const auth::UnixPolicy policy_;
  const Bounds bounds_;
  mutable std::mutex mutex_;
  uint64_t last_number_ = 0;
  std::map<int, Entry> entries_;           // by descriptor
  std::map<std::string, OfUser> of_user_;  // none is empty
};

}  // namespace trainctl::rpc
