// What a request must be before anybody looks at what it asks: of this site's own pages, or of a
// program. Pure.
//
// A page of another site can make a browser send requests here. It can't read the answers, as no
// answer allows that (CORS). A name of its own that leads to loopback (DNS rebinding) would make it
// the same origin: so Host must be a name of loopback. Nothing here changes anything, and there
// are no cookies.
#pragma once

#include <string>
#include <string_view>

#include "common/base/result.h"

namespace trainctl::web {

struct Headers {
  std::string_view method;      // "GET"
  std::string_view host;        // "127.0.0.1:40001"; any port: an SSH tunnel has its own
  std::string_view origin;      // empty: none
  std::string_view fetch_site;  // Sec-Fetch-Site; empty: not a browser's
  std::string_view fetch_mode;  // Sec-Fetch-Mode
};

// kConflict: the method changes something. kDenied: another site's page asks, or another name led
// here.
base::Status CheckHeaders(const Headers& headers);

}  // namespace trainctl::web
