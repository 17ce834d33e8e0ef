#include "tests/rpc/user_channel.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <grpcpp/create_channel_posix.h>
#include <sys/fsuid.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/check.h"

namespace trainctl::rpc_test {

bool MayBeOtherUsers() { return geteuid() == 0; }

std::shared_ptr<grpc::Channel> ChannelAs(uid_t user, const std::string& address) {
  const size_t colon = address.rfind(':');
  sockaddr_in server{};
  server.sin_family = AF_INET;
  server.sin_port = htons(static_cast<uint16_t>(std::stoi(address.substr(colon + 1))));
  CHECK(inet_pton(AF_INET, address.substr(0, colon).c_str(), &server.sin_addr) == 1) << address;
  setfsuid(user);  // of this thread alone
  const int file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  setfsuid(geteuid());
  CHECK(connect(file, reinterpret_cast<sockaddr*>(&server), sizeof server) == 0) << address;
  CHECK(fcntl(file, F_SETFL, O_NONBLOCK) == 0) << address;
  return grpc::CreateInsecureChannelFromFd(address, file);
}

}  // namespace trainctl::rpc_test
