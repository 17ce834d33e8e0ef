// Keeps this worker connected to its coordinator: finds its address, dials, and dials again with
// backoff whenever the stream ends. Runs on the io_context's thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "common/base/result.h"
#include "worker/agent/backoff.h"
#include "worker/agent/coordinator_stream.h"

namespace trainctl::agent {

struct UplinkOptions {
  std::string coordinator;       // host:port; or empty, and
  std::string coordinator_file;  // a file that holds it, read at each try: a restarted coordinator
                                 // may have another port
  std::string coordinator_user;  // who may be the coordinator besides root and our own user
  std::string keys;              // a folder (host_keys.h): by TLS; empty: without
  std::chrono::milliseconds first_retry{200};
  std::chrono::milliseconds last_retry{5000};
  uint64_t seed = 0;  // of the backoff's jitter
  // The loop stands still meanwhile. A coordinator takes a connection at once.
  std::chrono::milliseconds patience{500};
  KeepAlive keep_alive;
};

class Uplink {
 public:
  struct Callbacks {
    // The stream is open, its first message is due. local_address: of this host, towards the
    // coordinator.
    std::function<void(const std::string& local_address)> on_up;
    std::function<void(const v1::CoordinatorMessage&)> on_message;
    std::function<void()> on_writable;
    // The stream has ended; kConflict: by the coordinator, for good reason.
    std::function<void(const base::Error&)> on_down;
  };

  Uplink(boost::asio::io_context& io, UplinkOptions options, Callbacks callbacks);
  ~Uplink();

  void Start() { Dial(); }
  // The coordinator has answered: the next failure starts with the shortest wait again.
  void Healthy() { backoff_.Reset(); }
  // Dropped where there is no stream.
  void Send(v1::WorkerMessage message);
  bool writable() const { return stream_ && stream_->writable(); }

 private:
  void Dial();
  void Open(const std::string& address,
            const boost::asio::ip::tcp::resolver::results_type& endpoints);
  base::Result<CoordinatorAddress> Reach(const std::string& address,
                                         const boost::asio::ip::tcp::endpoint& endpoint) const;
  void Closed(const base::Error& reason);
  void DialLater(const std::string& reason);

  boost::asio::io_context& io_;
  const UplinkOptions options_;
  const Callbacks callbacks_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  boost::asio::ip::tcp::resolver resolver_;
  boost::asio::steady_timer timer_;
  Backoff backoff_;
  std::unique_ptr<CoordinatorStream> stream_;
  CoordinatorAddress reached_;  // by stream_
  std::string last_reason_;     // said once in the log, not at each try
};

// Of the options: the address, or what its file says now. kNotFound, kIo.
base::Result<std::string> ReadAddress(const UplinkOptions& options);

// The parts of "host:port" or "[address]:port". kInvalid: it is neither.
struct HostPort {
  std::string host;
  std::string port;
};
base::Result<HostPort> ParseHostPort(const std::string& text);

}  // namespace trainctl::agent
