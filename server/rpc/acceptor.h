// The port itself: takes connections on a thread of its own.
//
// Not gRPC's listener (1.51, tcp_server_posix.cc): that takes all connections that wait before it
// works on the first. A flood uses up the descriptors, after which it listens no more. Its clock
// stands still meanwhile, so pings of new connections are due at once. They run while another
// thread still makes the connection: an assertion ends the process (chttp2_transport.cc, 603).
#pragma once

#include <functional>
#include <memory>
#include <thread>

#include "common/base/result.h"
#include "common/peer/open_file.h"
#include "server/auth/listen_address.h"

namespace trainctl::rpc {

class Acceptor {
 public:
  // Connections wait until Start. kConflict: the port is taken by another process. kExhausted: no
  // descriptor is left.
  static base::Result<std::unique_ptr<Acceptor>> Listen(const auth::ListenAddress& address);
  ~Acceptor() { Stop(); }

  int port() const { return port_; }

  // Hands over each connection, non-blocking. Where no descriptor is left, connections wait.
  using Take = std::function<void(peer::OpenFile connection)>;
  void Start(Take take);
  // Nobody can connect any more, and `take` is not called any more. Idempotent.
  void Stop();

 private:
  Acceptor(peer::OpenFile listener, peer::OpenFile end, int port)
      : listener_(std::move(listener)), end_(std::move(end)), port_(port) {}
  void Run(const Take& take);

  peer::OpenFile listener_, end_;  // end_: an eventfd
  const int port_;
  std::thread thread_;
};

}  // namespace trainctl::rpc
