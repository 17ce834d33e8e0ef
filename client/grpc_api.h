// Api over gRPC. The only file pair of trainctl that knows gRPC.
#pragma once

#include <chrono>
#include <memory>

#include "client/api.h"
#include "client/server_address.h"

namespace trainctl::client {

inline constexpr std::chrono::milliseconds kPatience{500};

// Where it does not answer, errors say which file named it. Connects at the first call; later ones
// share the connection and reconnect by themselves. On loopback the listener must be root's, our
// own, trainctl's, or that of `server_user`; otherwise calls end with kDenied and nothing is sent.
// A site of a context is called over TLS, with the token of its file; what is wrong with either,
// or with the coordinator's certificate, is kDenied and said.
// `patience` at each step of looking why it does not answer.
std::unique_ptr<Api> ConnectGrpc(const NamedServer& server, const std::string& server_user = "",
                                 std::chrono::milliseconds patience = kPatience);

}  // namespace trainctl::client
