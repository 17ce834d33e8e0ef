// Where browsers find the dashboard, as Workers tells it.
#pragma once

#include <string>

namespace trainctl::rpc {

struct Dashboards {
  std::string local;  // without TLS, on loopback; empty: none is served
  std::string tls;    // where browsers sign in; empty: none is served
};

}  // namespace trainctl::rpc
