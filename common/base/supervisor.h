// What systemd hears of this service: sd_notify(3), without its library. Where nobody has started
// this process as a service, each word goes nowhere. Thread-safe.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace trainctl::base {

// Variables of the environment that systemd sets; empty: not set. They are for the service alone,
// not for what it starts.
struct ServiceVariables {
  std::string notify_socket;  // NOTIFY_SOCKET: "/path", or "@name" of an abstract one
  std::string watchdog_usec;  // WATCHDOG_USEC: a service that is silent for longer is restarted
  std::string watchdog_pid;   // WATCHDOG_PID: whose silence counts
};

// Whether NAME=value sets one of them.
bool IsServiceVariable(std::string_view entry);

class Supervisor {
 public:
  explicit Supervisor(const ServiceVariables& variables);

  // Half of what systemd waits for a word: so often Alive is due. nullopt: it does not wait.
  std::optional<std::chrono::milliseconds> alive_period() const { return alive_period_; }

  // The service serves. status: a few words for `systemctl status`, in one line, of each.
  void Ready(std::string_view status) const;
  void Status(std::string_view status) const;
  // To be said by the loop that does the work, so that a loop that hangs is silent.
  void Alive() const;
  void Stopping(std::string_view status) const;

 private:
  // A word that can't be sent within seconds is lost: systemd is not waited for.
  void Tell(std::string_view words) const;

  const std::string socket_;
  std::optional<std::chrono::milliseconds> alive_period_;
};

}  // namespace trainctl::base
