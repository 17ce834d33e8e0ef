#include "worker/agent/data_interface.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <memory>

namespace trainctl::agent {
namespace {

// Empty: it is neither IPv4 nor IPv6.
std::string ToText(const sockaddr* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address == nullptr) return {};
  const void* bytes = nullptr;
  if (address->sa_family == AF_INET)
    bytes = &reinterpret_cast<const sockaddr_in*>(address)->sin_addr;
  if (address->sa_family == AF_INET6)
    bytes = &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
  if (bytes == nullptr) return {};
  ::inet_ntop(address->sa_family, bytes, text.data(), text.size());
  return text.data();
}

}  // namespace

std::string InterfaceWith(const std::string& address) {
  ifaddrs* found = nullptr;
  if (::getifaddrs(&found) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> list(found, &::freeifaddrs);
  for (const ifaddrs* entry = list.get(); entry != nullptr; entry = entry->ifa_next) {
    const std::string text = ToText(entry->ifa_addr);
    if (!text.empty() && text == address) return entry->ifa_name;
  }
  return {};
}

std::vector<std::string> NcclInterface(const std::string& data_interface,
                                       const std::vector<std::string>& environment) {
  constexpr const char* kVariable = "NCCL_SOCKET_IFNAME=";
  const bool is_chosen = std::ranges::any_of(
      environment, [](const std::string& entry) { return entry.starts_with(kVariable); });
  if (data_interface.empty() || is_chosen) return {};
  const std::string name = InterfaceWith(data_interface);
  if (name.empty()) {
    spdlog::warn("no interface of this host has --data-interface {}: NCCL chooses one",
                 data_interface);
    return {};
  }
  return {kVariable + ("=" + name)};  // NCCL takes a name behind "=" as it is, not as a prefix
}

}  // namespace trainctl::agent
