// The whole coordinator in one object: store, loop, read thread and port. main.cc and the tests run
// the same one.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "common/base/clock.h"
#include "common/base/result.h"
#include "server/coordinator/event_log.h"
#include "server/daemon/options.h"

namespace trainctl::coordinator {

class Daemon {
 public:
  // Serves when it returns. kInvalid: an address that is not loopback without TLS, keys that are
  // missing, a folder that can't be used; kDenied: keys that are open to others;
  // kConflict: another coordinator has the folder or the port, or the folder has lost its database;
  // kExhausted, kIo. Clock and log outlive it.
  static base::Result<std::unique_ptr<Daemon>> Start(const Options& options,
                                                     const base::Clock& clock, EventLog& log);
  ~Daemon();  // stops cleanly; jobs go on

  // Runs work on the loop's thread, now and again and again. The daemon keeps a copy of work.
  void Every(std::chrono::milliseconds period, const std::function<void()>& work);

  // Coordinator::EndLoan.
  void EndLoan();
  // Whether a rank has not ended whose worker is there, or has not been away for long.
  bool HasRanksInReach();

  // "127.0.0.1:PORT", of loopback without TLS where there is one.
  const std::string& address() const;
  // "0.0.0.0:PORT"; empty: no TLS is served.
  const std::string& tls_address() const;
  // Likewise; empty: none is served.
  std::string dashboard() const;
  std::string dashboard_tls() const;

 private:
  struct Parts;
  explicit Daemon(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace trainctl::coordinator
