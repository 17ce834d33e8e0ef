// A connection to a coordinator that belongs to another Unix user: the kernel records whose each
// socket is, by the thread's user at the time it was made. Only root may be another.
#pragma once

#include <grpcpp/channel.h>
#include <sys/types.h>

#include <memory>
#include <string>

namespace trainctl::rpc_test {

bool MayBeOtherUsers();

// address: "127.0.0.1:PORT". Does not connect again where the coordinator restarts.
std::shared_ptr<grpc::Channel> ChannelAs(uid_t user, const std::string& address);

}  // namespace trainctl::rpc_test
