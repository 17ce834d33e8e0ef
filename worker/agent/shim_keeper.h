// The worker's end of one shim: starts it or finds it again, speaks to it, and learns that the
// rank's whole process tree is gone.
//
// The end is always an exit record in the folder. The shim writes it; where the shim itself was
// killed, the worker proves that nothing of the rank is left (ending it where need be) and writes
// the record in its place, so that the next worker finds the same. Runs on one thread, that of the
// io_context; callbacks come from there, never from inside a call.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "worker/shim/rank_folder.h"

namespace trainctl::agent {

struct ShimCommand {
  std::string program;                   // trainshim
  std::vector<std::string> arguments;    // to it
  std::vector<std::string> environment;  // NAME=value, of the shim and its rank
};

class ShimKeeper {
 public:
  struct Callbacks {
    std::function<void()> on_data;  // there may be more in the folder's files
    std::function<void(const shim::ExitRecord&)> on_ended;  // once; the record is in the folder
  };

  ShimKeeper(boost::asio::io_context& io, const base::Clock& clock, std::string folder,
             Callbacks callbacks);
  ~ShimKeeper();
  ShimKeeper(const ShimKeeper&) = delete;
  ShimKeeper& operator=(const ShimKeeper&) = delete;

  // Starts a shim in the folder, which is there. A shim that can't be started is an end with a
  // launch error.
  void Launch(const ShimCommand& command);
  // Instead of Launch: the rank can't be started, and why.
  void Fail(const std::string& launch_error);
  // Takes up what an earlier worker started.
  void Adopt();

  // A line to the shim (worker/shim/control_socket.h), now or once it listens; at most kMaxWaiting
  // lines wait, further ones are dropped.
  void Send(const std::string& line);
  // As Send, but dropped where the shim does not listen now.
  void Offer(const std::string& line);

  static constexpr size_t kMaxWaiting = 64;

 private:
  using Socket = boost::asio::local::stream_protocol::socket;

  bool Connect();
  void Look();
  void LookLater();
  void Read();
  void Write();
  void Disconnected();
  bool OwnShimRuns();
  void ProveEnd();
  void End(const shim::ExitRecord& record);

  boost::asio::io_context& io_;
  const base::Clock& clock_;
  const std::string folder_;
  const Callbacks callbacks_;
  const std::shared_ptr<bool> alive_ =
      std::make_shared<bool>(true);  // false for handlers that come after the destructor
  Socket socket_;
  boost::asio::steady_timer timer_;
  std::array<char, 16 << 10> bytes_;
  std::deque<std::string> outgoing_;
  bool writing_ = false;
  pid_t own_shim_ = 0;                  // started by this process and not yet reaped; 0: none
  shim::Descriptor lock_;               // of a folder whose shim is dead
  base::SteadyMicros prove_until_ = 0;  // 0: not proving
  bool ended_ = false;
};

}  // namespace trainctl::agent
