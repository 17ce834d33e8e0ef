// One connection to the coordinator: the bidirectional stream WorkerGateway.Connect. Made, used and
// destroyed on the io_context's thread; gRPC's own threads only post to it. Once closed it stays
// closed: a new connection is a new object.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "common/base/result.h"
#include "worker/agent/host_keys.h"

namespace trainctl::v1 {
class CoordinatorMessage;
class WorkerMessage;
}  // namespace trainctl::v1

namespace trainctl::agent {

// A connection whose packets vanish is closed after both: before the coordinator (15 s) calls this
// worker lost.
struct KeepAlive {
  std::chrono::milliseconds silence{5000};  // until a ping; gRPC sends at most one a second
  std::chrono::milliseconds answer{5000};   // until it is answered
};

// Where to dial: an address, and a connection to it that is proven already (common/peer/dial.h) or
// what TLS needs.
struct CoordinatorAddress {
  std::string text;
  std::optional<int> connected;  // the stream closes it; none: gRPC dials
  std::optional<HostKeys> keys;  // none: no TLS
};

class CoordinatorStream {
 public:
  struct Callbacks {
    std::function<void(const v1::CoordinatorMessage&)> on_message;
    std::function<void()> on_writable;                         // it may take more
    std::function<void(const base::Error& reason)> on_closed;  // once, last of all
  };

  CoordinatorStream(boost::asio::io_context& io, const CoordinatorAddress& address,
                    const KeepAlive& keep_alive, Callbacks callbacks);
  // Cancels what is under way and waits for gRPC to let go; no callback comes any more.
  ~CoordinatorStream();

  // In order. Dropped where the stream is closed.
  void Send(v1::WorkerMessage message);
  // Whether fewer than kMaxQueued messages wait to be written; who has much to send stops here
  // until on_writable.
  bool writable() const;
  static constexpr size_t kMaxQueued = 16;

 private:
  class Reactor;
  std::unique_ptr<Reactor> reactor_;
};

}  // namespace trainctl::agent
