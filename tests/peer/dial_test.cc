#include "common/peer/dial.h"

#include <gtest/gtest.h>

#include "common/peer/open_file.h"
#include "common/peer/socket_address.h"
#include "tests/peer/stranger.h"

namespace trainctl::peer {
namespace {

constexpr uid_t kStranger = 65534;

std::string Loopback(const std::string& address) {
  const auto found = FindLoopback(address);
  return found ? ToString(*found) : "none";
}

TEST(FindLoopback, IsWhereTheCoordinatorListens) {
  EXPECT_EQ(Loopback("127.0.0.1:7070"), "127.0.0.1:7070");
  EXPECT_EQ(Loopback("127.3.2.1:7070"), "127.3.2.1:7070");
  EXPECT_EQ(Loopback("localhost:7070"), "127.0.0.1:7070");
  EXPECT_EQ(Loopback("[::1]:7070"), "[::1]:7070");
  for (const char* other : {"10.0.0.1:7070", "[2001:db8::1]:7070", "127.0.0.1", ""})
    EXPECT_EQ(Loopback(other), "none") << other;
}

TEST(IsTrusted, IsRootOneselfAndWhoIsNamed) {
  EXPECT_TRUE(IsTrusted(0, 1000, ""));
  EXPECT_TRUE(IsTrusted(1000, 1000, ""));
  EXPECT_FALSE(IsTrusted(1001, 1000, ""));
  EXPECT_TRUE(IsTrusted(4294967290, 1000, "uid:4294967290"));
  EXPECT_FALSE(IsTrusted(4294967291, 1000, "uid:4294967290"));
}

TEST(DialTrusted, ReachesAListenerOfOnesOwn) {
  const Stranger self(geteuid());
  const auto connection = DialTrusted(*FindLoopback(self.address()), {});
  ASSERT_TRUE(connection.ok()) << connection.error().message;
  EXPECT_TRUE(Stands(connection->own, connection->other));
  EXPECT_EQ(write(connection->file, "x", 1), 1);
  close(connection->file);
}

TEST(DialTrusted, SendsAStrangerNothingAndNamesThem) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can make a socket of another user";
  const std::string name = UserName(kStranger);
  {
    const Stranger stranger(kStranger);
    const auto refused =
        DialTrusted(*FindLoopback(stranger.address()), {.how_to_trust = "--coordinator-user "});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, base::Code::kDenied);
    EXPECT_EQ(refused.error().message, stranger.address() + ": user '" + name +
                                           "' listens there, who is neither root nor you (root): "
                                           "nothing was sent. If that is your coordinator, say "
                                           "--coordinator-user " +
                                           name);
    while (stranger.taken() == 0) std::this_thread::yield();
    EXPECT_EQ(stranger.bytes(), 0u);
  }
  const Stranger named(kStranger);
  const auto connection = DialTrusted(*FindLoopback(named.address()), {.also_trusted = name});
  ASSERT_TRUE(connection.ok()) << connection.error().message;
  close(connection->file);
}

// The kernel takes connections there, and the program does not: as where it is stopped.
OpenFile ListenOnly() {
  OpenFile listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_storage any{};
  const socklen_t size = ToSocketAddress(*ParseEndpoint("127.0.0.1:0"), &any);
  EXPECT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&any), size), 0);
  EXPECT_EQ(listen(listener.get(), 8), 0);
  return listener;
}

TEST(DialTrusted, AListenerThatAcceptsNothingIsUnavailable) {
  const OpenFile listener = ListenOnly();
  const Endpoint there = *OwnEnd(listener.get());
  const auto refused = DialTrusted(there, {.patience = std::chrono::milliseconds(20)});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, base::Code::kUnavailable);
  EXPECT_EQ(
      refused.error().message,
      ToString(there) + ": who listens there takes no connections: it is stopped, or very busy");
}

TEST(DialTrusted, AConnectionThatIsClosedBeforeItIsProvenIsUnavailable) {
  OpenFile listener = ListenOnly();
  const Endpoint there = *OwnEnd(listener.get());
  std::thread closes([&listener] {
    pollfd waits{listener.get(), POLLIN, 0};
    poll(&waits, 1, -1);
    listener.Close();
  });
  const auto refused = DialTrusted(there, {.patience = std::chrono::seconds(60)});
  closes.join();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, base::Code::kUnavailable);
  EXPECT_EQ(refused.error().message,
            ToString(there) +
                ": the connection was closed at once: your programs may have too many open");
}

TEST(DialTrusted, NobodyThereIsUnavailable) {
  std::string address;
  {
    const Stranger gone(geteuid());
    address = gone.address();
  }
  const auto refused = DialTrusted(*FindLoopback(address), {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, base::Code::kUnavailable);
  EXPECT_EQ(refused.error().message, address + ": Connection refused");
}

}  // namespace
}  // namespace trainctl::peer
