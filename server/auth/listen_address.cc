#include "server/auth/listen_address.h"

#include <arpa/inet.h>

#include <charconv>

namespace trainctl::auth {
namespace {

constexpr std::string_view kDashboard = "--dashboard";

base::Error Invalid(const std::string& text, const std::string& problem) {
  return {base::Code::kInvalid, text + ": " + problem};
}

bool IsLoopback(const std::string& host) {
  in_addr v4{};
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  in6_addr v6{};
  return inet_pton(AF_INET6, host.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

bool IsNumeric(const std::string& host) {
  in6_addr any{};
  return inet_pton(AF_INET, host.c_str(), &any) == 1 ||
         inet_pton(AF_INET6, host.c_str(), &any) == 1;
}

std::string Shown(std::string_view text, std::string_view option) {
  return std::string(option) + " '" + std::string(text.substr(0, 256)) + "'";
}

base::Result<ListenAddress> ParseAddress(std::string_view text, const std::string& shown) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos)
    return Invalid(shown, "expected HOST:PORT, such as 127.0.0.1:7070");
  std::string host(text.substr(0, colon));
  const std::string_view digits = text.substr(colon + 1);
  ListenAddress address;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), address.port);
  if (error != std::errc() || end != digits.data() + digits.size() || address.port < 0 ||
      address.port > 65535) {
    return Invalid(shown, "expected a port from 0 to 65535 behind the last colon");
  }
  if (host.size() > 2 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  if (host == "localhost") host = "127.0.0.1";
  address.host = host;
  return address;
}

}  // namespace

base::Result<ListenAddress> ParseListenAddress(std::string_view text, std::string_view option) {
  const std::string shown = Shown(text, option);
  auto address = ParseAddress(text, shown);
  if (!address || IsLoopback(address->host)) return address;
  return Invalid(
      shown,
      "refused: without TLS the coordinator listens on loopback only (127.0.0.1 or [::1]); make "
      "keys with traincoordinator init and name them with --site-keys" +
          std::string(option == kDashboard ? ", for --dashboard-tls" : "") +
          ", or reach it from another machine through an SSH tunnel: ssh -L 7070:127.0.0.1:7070 "
          "HOST");
}

base::Result<ListenAddress> ParseTlsAddress(std::string_view text, std::string_view option) {
  const std::string shown = Shown(text, option);
  auto address = ParseAddress(text, shown);
  if (!address) return address;
  if (!IsNumeric(address->host))
    return Invalid(shown, "expected an address of this host, such as 0.0.0.0 or 10.0.0.7");
  address->tls = true;
  return address;
}

std::string ToString(const ListenAddress& address) {
  const bool is_v6 = address.host.find(':') != std::string::npos;
  return (is_v6 ? "[" + address.host + "]" : address.host) + ":" + std::to_string(address.port);
}

}  // namespace trainctl::auth
