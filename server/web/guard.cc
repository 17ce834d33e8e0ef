#include "server/web/guard.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "common/base/utf8.h"
#include "server/auth/listen_address.h"

namespace trainctl::web {
namespace {

constexpr size_t kMaxShownBytes = 64;

base::Error Refuse(const std::string& why) { return {base::Code::kDenied, why}; }

// "localhost:8080", "127.0.0.1", "[::1]:80": loopback, with or without a port.
bool IsLoopbackHost(std::string_view host) {
  const bool has_port = host.rfind(':') != std::string_view::npos && !host.ends_with(']');
  const std::string address = std::string(host) + (has_port ? "" : ":80");
  return auth::ParseListenAddress(address).ok();
}

bool IsSame(std::string_view one, std::string_view other) {
  return std::ranges::equal(one, other, [](unsigned char a, unsigned char b) {
    return std::tolower(a) == std::tolower(b);
  });
}

// "gpu-host:7444", "[::1]": one of these, with or without a port.
bool IsOneOf(std::string_view host, const std::vector<std::string>& hosts) {
  const bool is_v6 = host.starts_with('[');
  const size_t end = is_v6 ? host.find(']') : host.rfind(':');
  const std::string_view name = host.substr(is_v6 ? 1 : 0, is_v6 ? end - 1 : end);
  return std::ranges::any_of(hosts, [name](const std::string& own) { return IsSame(own, name); });
}

base::Status CheckMethod(const Headers& headers, bool tls) {
  if (headers.method == "GET" || headers.method == "HEAD") return base::Ok{};
  const bool signs = headers.target == kSignInPath || headers.target == kSignOutPath;
  if (tls && signs && headers.method == "POST") return base::Ok{};
  return base::Error{base::Code::kConflict,
                     "only GET and HEAD: trainctl is for what changes something"};
}

base::Status CheckHost(std::string_view host, const std::vector<std::string>* hosts) {
  const std::string shown = "Host '" + base::Excerpt(host, kMaxShownBytes) + "': ";
  if (hosts != nullptr) {
    if (IsOneOf(host, *hosts)) return base::Ok{};
    return Refuse(shown +
                  "the dashboard answers to the names of its certificate only; traincoordinator "
                  "certify makes another");
  }
  if (IsLoopbackHost(host)) return base::Ok{};
  return Refuse(shown +
                "the dashboard answers to names of loopback only (127.0.0.1, localhost, [::1]); "
                "reach it from another machine through an SSH tunnel");
}

}  // namespace

base::Status CheckHeaders(const Headers& headers, const std::vector<std::string>* hosts) {
  const bool tls = hosts != nullptr;
  base::Status fit = CheckMethod(headers, tls);
  if (fit) fit = CheckHost(headers.host, hosts);
  if (!fit) return fit;
  const std::string own = (tls ? "https://" : "http://") + std::string(headers.host);
  if (!headers.origin.empty() && headers.origin != own)
    return Refuse("a page of another site asks: " + base::Excerpt(headers.origin, kMaxShownBytes));
  // "none": typed, or a bookmark. A link on another page may lead here.
  constexpr std::array<std::string_view, 3> kOwn = {"", "same-origin", "none"};
  const bool is_own = std::ranges::find(kOwn, headers.fetch_site) != kOwn.end();
  const bool is_link = headers.fetch_mode == "navigate" && headers.method != "POST";
  if (is_own || is_link) return base::Ok{};
  return Refuse("a page of another site asks");
}

}  // namespace trainctl::web
