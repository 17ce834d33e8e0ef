// What a request must be before anybody looks at what it asks: of this site's own pages, or of a
// program. Pure.
//
// A page of another site can make a browser send requests here. It can't read the answers, as no
// answer allows that (CORS); no cookie of a session comes with them (SameSite). A name of its
// own that leads here (DNS rebinding) would make it the same origin: so Host must be a name of
// loopback, or with TLS one of the certificate. Nothing here changes anything but signing in and
// out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"

namespace trainctl::web {

inline constexpr std::string_view kSignInPath = "/api/sign-in", kSignOutPath = "/api/sign-out";

struct Headers {
  std::string_view method;      // "GET"
  std::string_view host;        // "127.0.0.1:40001"; any port: an SSH tunnel has its own
  std::string_view origin;      // empty: none
  std::string_view fetch_site;  // Sec-Fetch-Site; empty: not a browser's
  std::string_view fetch_mode;  // Sec-Fetch-Mode
  std::string_view target = {};
};

// kConflict: the method changes something. kDenied: another site's page asks, or another name led
// here. hosts: names and addresses of the certificate; null: loopback without TLS.
base::Status CheckHeaders(const Headers& headers, const std::vector<std::string>* hosts = nullptr);

}  // namespace trainctl::web
