#include "server/web/guard.h"

#include <algorithm>
#include <array>

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

}  // namespace

base::Status CheckHeaders(const Headers& headers) {
  if (headers.method != "GET" && headers.method != "HEAD") {
    return base::Error{base::Code::kConflict,
                       "only GET and HEAD: trainctl is for what changes something"};
  }
  if (!IsLoopbackHost(headers.host)) {
    return Refuse("Host '" + base::Excerpt(headers.host, kMaxShownBytes) +
                  "': the dashboard answers to names of loopback only (127.0.0.1, localhost, "
                  "[::1]); reach it from another machine through an SSH tunnel");
  }
  const std::string own = "http://" + std::string(headers.host);
  if (!headers.origin.empty() && headers.origin != own)
    return Refuse("a page of another site asks: " + base::Excerpt(headers.origin, kMaxShownBytes));
  // "none": typed, or a bookmark. A link on another page may lead here.
  constexpr std::array<std::string_view, 3> kOwn = {"", "same-origin", "none"};
  const bool is_own = std::ranges::find(kOwn, headers.fetch_site) != kOwn.end();
  if (is_own || headers.fetch_mode == "navigate") return base::Ok{};
  return Refuse("a page of another site asks");
}

}  // namespace trainctl::web
