// A port for browsers and Prometheus: HTTP/1.1 on a thread of its own, over loopback without TLS or
// over any address with it.
//
// On loopback a connection's user is proven by the kernel (common/peer/socket_owner.h), as gRPC's
// are, and there are no cookies. Over TLS each request says who makes it (door.h). Everything has a
// bound: connections, the bytes of a request's head, the seconds that a peer may take, and how
// often a user asks. A request has no body.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "common/base/result.h"
#include "server/auth/call_rate.h"
#include "server/auth/listen_address.h"
#include "server/auth/unix_policy.h"
#include "server/coordinator/event_log.h"
#include "server/web/door.h"
#include "server/web/http.h"

namespace trainctl::web {

struct Limits {
  int connections = 512;          // more are closed at once
  int connections_of_host = 256;  // that they come from
  int live_streams = 256;
  int live_streams_of_user = 64;
  size_t head_bytes = 16 << 10;
  std::chrono::milliseconds patience{30'000};  // for a request, and for a peer that takes bytes
  std::chrono::milliseconds live_period{1'000};
};

class Server {
 public:
  // The handler, the log, the rate and the door outlive it. Answers are given or dropped before it
  // is destroyed.
  struct Parts {
    Handler& handler;
    coordinator::EventLog& log;
    auth::CallRate& rate;
    auth::UnixPolicy policy = {};
    Door* door = nullptr;  // needed by an address with TLS
    Limits limits = {};
  };

  // Serves when it returns. kConflict: the port is taken. kInvalid: a certificate of no use. kIo.
  static base::Result<std::unique_ptr<Server>> Start(const auth::ListenAddress& address,
                                                     const Parts& parts);
  ~Server();  // stops

  // With the port that the kernel chose.
  const auth::ListenAddress& address() const { return address_; }

  // Ends all connections, then the thread. Answers that come later are dropped. Idempotent.
  void Stop();

 private:
  struct Asio;
  Server();

  auth::ListenAddress address_;
  std::unique_ptr<Asio> asio_;
};

}  // namespace trainctl::web
