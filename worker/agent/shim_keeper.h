// The worker's end of one shim: starts it or finds it again, speaks to it, and learns that the
// rank's whole process tree is gone.
//
// The end is always an exit record in the folder. The shim writes it, unless the shim itself was
// killed. Then the worker proves that nothing of the rank is left, ending it if need be. It writes
// the record in the shim's place, so that the next worker finds the same. A folder that is gone or
// can't be locked is an end too, once no shim lives there. A shim that does not answer a terminate
// is killed, and its rank with it.
//
// Runs on one thread, that of the io_context. Callbacks come from there, never from inside a call,
// and no call waits for a shim.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "worker/shim/line_buffer.h"
#include "worker/shim/rank_folder.h"

namespace trainctl::agent {

struct ShimCommand {
  std::string program;                   // trainshim
  std::vector<std::string> arguments;    // to it
  std::vector<std::string> environment;  // NAME=value, of the shim and its rank
};

struct ShimPatience {
  std::chrono::milliseconds answer{5000};    // behind the grace, for its word that a terminate came
  std::chrono::milliseconds ending{45'000};  // behind the grace, for the end
};

class ShimKeeper {
 public:
  struct Callbacks {
    std::function<void()> on_data;  // there may be more in the folder's files
    std::function<void(const shim::ExitRecord&)> on_ended;  // once; the record is in the folder
  };

  ShimKeeper(boost::asio::io_context& io, const base::Clock& clock, std::string folder,
             Callbacks callbacks, ShimPatience patience);
  ~ShimKeeper();
  ShimKeeper(const ShimKeeper&) = delete;
  ShimKeeper& operator=(const ShimKeeper&) = delete;

  // Starts a shim in the folder, which is there. A shim that can't be started is an end with a
  // launch error.
  void Launch(const ShimCommand& command);
  // Instead of Launch: the rank can't be started, and why. kInvalid: by its job's fault.
  void Fail(const base::Error& error);
  // Takes up what an earlier worker started.
  void Adopt();

  // A line to the shim (worker/shim/control_socket.h), now or once it listens. Never dropped: for
  // the few that matter.
  void Send(const std::string& line);
  // Dropped where the shim does not listen now, or where kMaxWaiting lines wait already.
  void Offer(const std::string& line);
  // Ends the rank: before all lines that wait.
  void Terminate(double grace_seconds);

  static constexpr size_t kMaxWaiting = 64;

  // The errno by which the disk refuses what the rank says; 0: it does not.
  int files_error() const { return files_error_; }

 private:
  using Socket = boost::asio::local::stream_protocol::socket;

  bool Connect();
  void Look();
  void LookLater();
  void Read();
  void Write();
  void Disconnected();
  bool OwnShimRuns();
  bool KillShim();
  void KillShimLater(double grace_seconds, std::chrono::milliseconds patience);
  void Take(const std::string& line);
  void ProveEnd();
  void End(const shim::ExitRecord& record);
  void ReapShim();

  boost::asio::io_context& io_;
  const base::Clock& clock_;
  const std::string folder_;
  const Callbacks callbacks_;
  const ShimPatience patience_;
  const std::shared_ptr<bool> alive_ =
      std::make_shared<bool>(true);  // false for handlers that come after the destructor
  Socket socket_;
  boost::asio::steady_timer timer_;
  boost::asio::steady_timer kill_timer_;
  std::chrono::milliseconds look_interval_;
  std::array<char, 16 << 10> bytes_;
  shim::LineBuffer lines_{1 << 20};
  std::deque<std::string> outgoing_;
  std::optional<std::string> terminate_;  // not yet sent
  std::string writing_line_;              // empty: nothing is being written
  int64_t connections_ = 0;               // a write that ends after its connection is passed over
  double grace_seconds_ = 0;              // of the last terminate
  std::optional<shim::PidRecord> rank_;   // as it was read last
  std::optional<shim::ExitRecord> said_exit_;  // by the shim
  int files_error_ = 0;                        // as it said last
  std::string note_;                           // for a record that this worker writes
  pid_t own_shim_ = 0;     // started by this process and not yet reaped; 0: none
  base::Descriptor lock_;  // of a folder whose shim is dead; none where it can't be made
  std::string why_no_lock_;
  base::SteadyMicros prove_until_ = 0;  // 0: not proving
  bool ended_ = false;
};

}  // namespace trainctl::agent
