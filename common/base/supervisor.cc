#include "common/base/supervisor.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "common/base/descriptor.h"
#include "common/base/parse_number.h"

namespace trainctl::base {
namespace {

constexpr timeval kSendTimeout{.tv_sec = 2, .tv_usec = 0};
constexpr int64_t kMicrosPerMilli = 1000;

std::optional<std::chrono::milliseconds> HalfOf(const ServiceVariables& variables) {
  const std::optional<int64_t> micros = ParseNumber(variables.watchdog_usec);
  const bool is_ours =
      variables.watchdog_pid.empty() || variables.watchdog_pid == std::to_string(::getpid());
  if (!micros || *micros == 0 || !is_ours) return std::nullopt;
  return std::chrono::milliseconds(std::max<int64_t>(1, *micros / kMicrosPerMilli / 2));
}

}  // namespace

bool IsServiceVariable(std::string_view entry) {
  constexpr std::array<std::string_view, 3> kNames = {"NOTIFY_SOCKET", "WATCHDOG_USEC",
                                                      "WATCHDOG_PID"};
  return std::ranges::find(kNames, entry.substr(0, entry.find('='))) != kNames.end();
}

Supervisor::Supervisor(const ServiceVariables& variables)
    : socket_(variables.notify_socket), alive_period_(HalfOf(variables)) {}

void Supervisor::Ready(std::string_view status) const {
  Tell("READY=1\nSTATUS=" + std::string(status));
}

void Supervisor::Status(std::string_view status) const { Tell("STATUS=" + std::string(status)); }

void Supervisor::Alive() const { Tell("WATCHDOG=1"); }

void Supervisor::Stopping(std::string_view status) const {
  Tell("STOPPING=1\nSTATUS=" + std::string(status));
}

void Supervisor::Tell(std::string_view words) const {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  const bool is_address = socket_.starts_with('/') || socket_.starts_with('@');
  if (!is_address || socket_.size() >= sizeof address.sun_path) return;
  std::ranges::copy(socket_, address.sun_path);
  if (socket_.front() == '@') address.sun_path[0] = '\0';  // an abstract one
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  const Descriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &kSendTimeout, sizeof kSendTimeout);
  ::sendto(socket.get(), words.data(), words.size(), MSG_NOSIGNAL,
           reinterpret_cast<const sockaddr*>(&address), length);
}

}  // namespace trainctl::base
