// Api over gRPC. The only file pair of trainctl that knows gRPC.
#pragma once

#include <memory>
#include <string>

#include "client/api.h"

namespace trainctl::client {

// Of a coordinator at "host:port". Connects at the first call; later ones share the connection and
// reconnect by themselves.
std::unique_ptr<Api> ConnectGrpc(const std::string& server);

}  // namespace trainctl::client
