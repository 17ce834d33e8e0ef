#include "common/peer/socket_owner.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/fsuid.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/file.h"
#include "common/peer/socket_diag.h"

namespace trainctl::peer {
namespace {

Endpoint At(const std::string& text) { return ParseEndpoint(text).value(); }

// As Linux prints them on x86-64: a listening socket, a connection's both ends, one in TIME_WAIT,
// one that is closing.
constexpr const char* kTcp =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "
    "inode\n"
    "   0: 0100007F:1B9E 00000000:0000 0A 00000000:00000000 00:00000000 00000000   990        0 "
    "1679 1 0000000028312 100 0 0 10 0\n"
    "   1: 0100007F:9C40 0100007F:1B9E 01 00000000:00000000 02:000A 00000000  1000        0 2001 2 "
    "0000000028313 20 4 30 10 -1\n"
    "   2: 0100007F:1B9E 0100007F:9C40 01 00000000:00000000 02:000A 00000000   990        0 2002 2 "
    "0000000028314 20 4 30 10 -1\n"
    "   3: 0100007F:9C41 0100007F:1B9E 06 00000000:00000000 03:000A 00000000     0        0 0 3 "
    "0000000028315\n"
    "   4: 0100007F:9C42 0100007F:1B9E 04 00000000:00000000 01:000A 00000000     0        0 0 3 "
    "0000000028316\n"
    "   5: 0100007F:9C43 0100007F:1B9E 01 00000000:00000000 01:000A 00000000     0        0 0 3 "
    "0000000028317\n";
constexpr const char* kTcp6 =
    "   0: 0000000000000000FFFF00000100007F:9C44 0000000000000000FFFF00000100007F:1B9E 01 "
    "00000000:00000000 02:000A 00000000  1001        0 3001 2 0000000028318 20 4 30 10 -1\n"
    "   1: 00000000000000000000000001000000:9C45 00000000000000000000000001000000:1B9E 01 "
    "00000000:00000000 02:000A 00000000  1002        0 3002 2 0000000028319 20 4 30 10 -1\n";

TEST(FindSocket, TellsTheUserOfTheClientsEnd) {
  EXPECT_EQ(FindSocket(kTcp, At("127.0.0.1:40000"), At("127.0.0.1:7070")),
            (SocketRecord{1000, 2001}));
  EXPECT_EQ(FindSocket(kTcp6, At("127.0.0.1:40004"), At("127.0.0.1:7070")),
            (SocketRecord{1001, 3001}));
  EXPECT_EQ(FindSocket(kTcp6, At("[::1]:40005"), At("[::1]:7070")), (SocketRecord{1002, 3002}));
}

TEST(FindSocket, AConnectionThatIsClosingOrThatNoProcessHasIsNobodys) {
  for (const char* client : {"127.0.0.1:40001", "127.0.0.1:40002", "127.0.0.1:40003"})
    EXPECT_EQ(FindSocket(kTcp, At(client), At("127.0.0.1:7070")), std::nullopt) << client;
}

TEST(FindSocket, BothEndsMustBeThose) {
  EXPECT_EQ(FindSocket(kTcp, At("127.0.0.1:40000"), At("127.0.0.1:7071")), std::nullopt);
  EXPECT_EQ(FindSocket(kTcp, At("127.0.0.2:40000"), At("127.0.0.1:7070")), std::nullopt);
  EXPECT_EQ(FindSocket(kTcp, At("127.0.0.1:7070"), At("0.0.0.0:0")), std::nullopt);
  EXPECT_EQ(FindSocket("", At("127.0.0.1:40000"), At("127.0.0.1:7070")), std::nullopt);
}

TEST(FindSocket, ALineThatEndsEarlyIsNobodys) {
  const std::string line = " 0100007F:9C40 0100007F:1B9E 01 00000000:0 02:0 00 1000 0 2001";
  for (size_t length = 0; length + 4 < line.size(); ++length) {
    EXPECT_EQ(FindSocket(line.substr(0, length), At("127.0.0.1:40000"), At("127.0.0.1:7070")),
              std::nullopt)
        << length;
  }
}

TEST(Endpoint, IsReadAsGrpcWritesIt) {
  EXPECT_EQ(ToString(At("ipv4:127.0.0.1:7070")), "127.0.0.1:7070");
  EXPECT_EQ(ToString(At("ipv6:%5B::1%5D:7070")), "[::1]:7070");
  EXPECT_EQ(ToString(At("ipv6:[::ffff:127.0.0.1]:7070")), "127.0.0.1:7070");
  for (const char* text : {"", "unix:", "unix:/run/x", "127.0.0.1", "127.0.0.1:70700",
                           "localhost:7070", "127.0.0.1:7070x", "[::1]7070"})
    EXPECT_FALSE(ParseEndpoint(text).has_value()) << text;
}

// A connection of this process over loopback.
class Connection {
 public:
  explicit Connection(int family) {
    const int listener = socket(family, SOCK_STREAM, 0);
    sockaddr_storage address{};
    address.ss_family = static_cast<sa_family_t>(family);
    if (family == AF_INET) {
      reinterpret_cast<sockaddr_in&>(address).sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    } else {
      reinterpret_cast<sockaddr_in6&>(address).sin6_addr = in6addr_loopback;
    }
    socklen_t size = sizeof address;
    usable_ = bind(listener, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
              listen(listener, 1) == 0 &&
              getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) == 0;
    client_ = socket(family, SOCK_STREAM, 0);
    usable_ = usable_ && connect(client_, reinterpret_cast<sockaddr*>(&address), size) == 0;
    server_ = accept(listener, nullptr, nullptr);
    close(listener);
  }
  ~Connection() {
    CloseClient();
    close(server_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  bool usable() const { return usable_; }
  void CloseClient() {
    if (client_ >= 0) close(client_);
    client_ = -1;
  }
  // The client keeps its end as it is, in CLOSE_WAIT; ours is closing.
  void EndServerSide() { shutdown(server_, SHUT_WR); }
  // Of the server's socket: its peer is the client's end.
  Endpoint Client() const { return Read(&getpeername); }
  Endpoint Server() const { return Read(&getsockname); }

 private:
  Endpoint Read(int (*ask)(int, sockaddr*, socklen_t*)) const {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    ask(server_, reinterpret_cast<sockaddr*>(&address), &size);
    char text[INET6_ADDRSTRLEN];
    if (address.ss_family == AF_INET) {
      const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
      inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
      return At(std::string(text) + ":" + std::to_string(ntohs(v4.sin_port)));
    }
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
    inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
    return At("[" + std::string(text) + "]:" + std::to_string(ntohs(v6.sin6_port)));
  }

  int client_ = -1, server_ = -1;
  bool usable_ = false;
};

// Both ways to ask the kernel know the same.
TEST(AskForSocket, SaysWhatTheKernelsTablesSay) {
  for (const int family : {AF_INET, AF_INET6}) {
    Connection connection(family);
    if (!connection.usable()) continue;
    const Endpoint client = connection.Client(), server = connection.Server();
    const auto asked = AskForSocket(client, server);
    if (!asked) GTEST_SKIP() << asked.error().message;
    ASSERT_TRUE(asked->has_value()) << family;
    const char* table = family == AF_INET ? "/proc/self/net/tcp" : "/proc/self/net/tcp6";
    EXPECT_EQ(*asked, FindSocket(base::ReadFile(table, 64 << 20).value(), client, server));
    EXPECT_EQ((*asked)->user, geteuid());
    const Endpoint listening{server.address, server.port}, nothing{server.address, 0};
    EXPECT_EQ(AskForSocket(listening, nothing).value(), std::nullopt);
    connection.CloseClient();
    EXPECT_EQ(AskForSocket(client, server).value(), std::nullopt);
  }
}

TEST(OwnerOfSocket, IsTheUserWhoMadeIt) {
  const Connection connection(AF_INET);
  ASSERT_TRUE(connection.usable());
  const auto owner = OwnerOfSocket(connection.Client(), connection.Server());
  ASSERT_TRUE(owner.ok()) << owner.error().message;
  EXPECT_EQ(*owner, geteuid());
}

TEST(OwnerOfSocket, IsKnownOverIPv6) {
  const Connection connection(AF_INET6);
  if (!connection.usable()) GTEST_SKIP() << "this host has no IPv6 loopback";
  const auto owner = OwnerOfSocket(connection.Client(), connection.Server());
  ASSERT_TRUE(owner.ok()) << owner.error().message;
  EXPECT_EQ(*owner, geteuid());
}

TEST(OwnerOfSocket, IsAnotherUserWhereThatOneMadeIt) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can make a socket of another user";
  constexpr uid_t kOther = 65534;
  setfsuid(kOther);  // of this thread alone
  const Connection connection(AF_INET);
  setfsuid(0);
  ASSERT_TRUE(connection.usable());
  const auto owner = OwnerOfSocket(connection.Client(), connection.Server());
  ASSERT_TRUE(owner.ok()) << owner.error().message;
  EXPECT_EQ(*owner, kOther);
}

TEST(OwnerOfSocket, IsNotKnownOnceTheClientIsGone) {
  Connection connection(AF_INET);
  ASSERT_TRUE(connection.usable());
  connection.CloseClient();
  const auto owner = OwnerOfSocket(connection.Client(), connection.Server());
  ASSERT_FALSE(owner.ok());
  EXPECT_EQ(owner.error().code, base::Code::kDenied);
}

// The port of a client that has closed may be anybody's, while our end waits to be closed.
TEST(OwnerOfSocket, OurOwnEndMustStandToo) {
  Connection connection(AF_INET);
  ASSERT_TRUE(connection.usable());
  const Endpoint client = connection.Client(), server = connection.Server();
  EXPECT_TRUE(Stands(server, client));
  ASSERT_TRUE(OwnerOfSocket(client, server).ok());
  connection.EndServerSide();
  EXPECT_FALSE(Stands(server, client));
  const auto owner = OwnerOfSocket(client, server);
  ASSERT_FALSE(owner.ok());
  EXPECT_EQ(owner.error().code, base::Code::kDenied);
}

// The client's end stands, and ours is no process's: nobody has accepted it.
TEST(OwnerOfSocket, IsNotKnownWhereOurEndIsNobodys) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(listener, 1), 0);
  ASSERT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  ASSERT_EQ(connect(client, reinterpret_cast<sockaddr*>(&address), size), 0);
  const Endpoint server = At("127.0.0.1:" + std::to_string(ntohs(address.sin_port)));
  ASSERT_EQ(getsockname(client, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const Endpoint own = At("127.0.0.1:" + std::to_string(ntohs(address.sin_port)));
  EXPECT_TRUE(Stands(own, server));
  EXPECT_FALSE(Stands(server, own));
  EXPECT_FALSE(OwnerOfSocket(own, server).ok());
  close(client);
  close(listener);
}

TEST(MapsAllUsers, OnlyWhereNoUserOfTheHostIsLeftOut) {
  EXPECT_TRUE(MapsAllUsers("         0          0 4294967295\n"));
  EXPECT_TRUE(MapsAllUsers("0 0 1000\n1000 1000 4294966295\n"));
  EXPECT_FALSE(MapsAllUsers("         0     100000      65536\n"));
  EXPECT_FALSE(MapsAllUsers("1000 1000 1\n"));
  EXPECT_FALSE(MapsAllUsers(""));
}

TEST(UserName, IsTheNameOrTheNumber) {
  EXPECT_EQ(UserName(0), "root");
  EXPECT_EQ(UserName(4294967290), "uid:4294967290");
}

TEST(IsUserName, IsOneThatUserNameTells) {
  for (const uid_t user : {uid_t{0}, geteuid(), uid_t{4294967290}})
    EXPECT_TRUE(IsUserName(UserName(user))) << user;
  for (const char* name : {"", "no-such-user", "uid:", "uid:x", "uid:-1"})
    EXPECT_FALSE(IsUserName(name)) << name;
}

}  // namespace
}  // namespace trainctl::peer
