#include "common/peer/socket_address.h"

#include <gtest/gtest.h>

#include "common/peer/open_file.h"

namespace trainctl::peer {
namespace {

TEST(SocketAddress, IsTheSameThereAndBack) {
  for (const char* text : {"127.0.0.1:7070", "10.1.2.3:65535", "[::1]:1", "[2001:db8::1]:80"}) {
    const Endpoint endpoint = *ParseEndpoint(text);
    sockaddr_storage address{};
    EXPECT_GT(ToSocketAddress(endpoint, &address), 0u);
    EXPECT_EQ(address.ss_family, FamilyOf(endpoint));
    const auto back = FromSocketAddress(address);
    ASSERT_TRUE(back.has_value()) << text;
    EXPECT_EQ(ToString(*back), text);
  }
}

TEST(SocketAddress, OfASocketThatIsNotConnectedIsNone) {
  const OpenFile file(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_FALSE(OtherEnd(file.get()).has_value());
  EXPECT_FALSE(OwnEnd(-1).has_value());
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
  const OpenFile first(pair[0]), second(pair[1]);
  EXPECT_FALSE(OwnEnd(first.get()).has_value()) << "it has no address of the internet";
}

}  // namespace
}  // namespace trainctl::peer
