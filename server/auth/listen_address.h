// Where the coordinator may listen: "127.0.0.1:7070", "localhost:0", "[::1]:7070". Port 0 lets the
// kernel choose.
#pragma once

#include <string>
#include <string_view>

#include "common/base/result.h"

namespace trainctl::auth {

struct ListenAddress {
  std::string host;  // numeric, without brackets
  int port = 0;
  bool tls = false;
};

// kInvalid: not HOST:PORT, or an address that others could reach. Without TLS only loopback is
// safe, since whoever can submit a job runs code on the GPUs. option: what it was given as, for the
// message.
base::Result<ListenAddress> ParseListenAddress(std::string_view text,
                                               std::string_view option = "--listen");

// Any address of this host, to be served with TLS: "0.0.0.0:7443". kInvalid: not a numeric
// HOST:PORT.
base::Result<ListenAddress> ParseTlsAddress(std::string_view text,
                                            std::string_view option = "--listen");

// As gRPC and clients spell it: "127.0.0.1:7070", "[::1]:7070".
std::string ToString(const ListenAddress& address);

}  // namespace trainctl::auth
