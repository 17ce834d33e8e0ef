// Api over gRPC. The only file pair of trainctl that knows gRPC.
#pragma once

#include <memory>

#include "client/api.h"
#include "client/server_address.h"

namespace trainctl::client {

// Where it does not answer, errors say which file named it. Connects at the first call; later ones
// share the connection and reconnect by themselves.
std::unique_ptr<Api> ConnectGrpc(const NamedServer& server);

}  // namespace trainctl::client
