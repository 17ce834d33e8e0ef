// How many connections a Unix user may have, and whose a call is.
#include "server/rpc/connections.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "common/peer/open_file.h"

namespace trainctl::rpc {
namespace {

constexpr uid_t kAnna = 61001, kBob = 61002, kGpu = 61007;
constexpr Connections::Bounds kFew{.of_user = 2, .beyond = 1, .all = 6};

std::string PeerOf(const peer::OpenFile& file) { return "fd:" + std::to_string(file.get()); }

Connection Of(uid_t user) {
  return {"127.0.0.1:40000", auth::UnixUser{user, "uid:" + std::to_string(user)}};
}

class ConnectionsTest : public testing::Test {
 protected:
  ConnectionsTest() : connections_(Policy(), kFew) {}

  static auth::UnixPolicy Policy() {
    auth::UnixPolicy policy;
    policy.workers = {"uid:61007"};
    return policy;
  }
  // A new socket of this user; none where it is to be closed.
  peer::OpenFile Connect(uid_t user) {
    peer::OpenFile file(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!connections_.Add(file.get(), Of(user))) file.Close();
    return file;
  }
  base::Code CodeOf(const peer::OpenFile& file) {
    const auto found = connections_.Find(PeerOf(file));
    return found ? base::Code::kInternal : found.error().code;
  }

  Connections connections_;
};

TEST_F(ConnectionsTest, ACallIsOfTheUserWhoseItsDescriptorIs) {
  const auto first = Connect(kAnna), second = Connect(kBob);  // of one address
  EXPECT_EQ(connections_.Find(PeerOf(first))->user->id, kAnna);
  EXPECT_EQ(connections_.Find(PeerOf(second))->user->id, kBob);
  for (const char* stranger : {"fd:9999", "fd:", "fd:1x", "ipv4:127.0.0.1:40000", ""}) {
    const auto found = connections_.Find(stranger);
    ASSERT_FALSE(found.ok()) << stranger;
    EXPECT_EQ(found.error().code, base::Code::kDenied) << stranger;
  }
}

TEST_F(ConnectionsTest, BeyondTheBoundTheNewestAreRefusedInWordsAndFurtherOnesClosed) {
  auto first = Connect(kAnna);
  const auto second = Connect(kAnna), third = Connect(kAnna), fourth = Connect(kAnna);
  EXPECT_TRUE(connections_.Find(PeerOf(second)).ok());
  const auto refused = connections_.Find(PeerOf(third));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, base::Code::kExhausted);
  EXPECT_EQ(refused.error().message,
            "uid:61001 has 2 connections to the coordinator already, and may not have more "
            "(traincoordinator --user-connections): end programs that watch or follow jobs");
  EXPECT_EQ(fourth.get(), -1);
  EXPECT_TRUE(connections_.Find(PeerOf(Connect(kBob))).ok());

  first.Close();
  EXPECT_TRUE(connections_.Find(PeerOf(third)).ok()) << "there is room again";
  EXPECT_GE(Connect(kAnna).get(), 0);
}

TEST_F(ConnectionsTest, ADescriptorThatIsUsedAgainIsTheNewConnectionsAlone) {
  auto first = Connect(kAnna);
  const int file = first.get();
  first.Close();
  const auto second = Connect(kBob);
  ASSERT_EQ(second.get(), file) << "the kernel gives the lowest";
  EXPECT_EQ(connections_.Find(PeerOf(second))->user->id, kBob);
  EXPECT_EQ(connections_.size(), 1u);
}

TEST_F(ConnectionsTest, UsersOfWorkersAreBoundedWithAllOthersOnly) {
  std::vector<peer::OpenFile> files;
  for (size_t i = 0; i < kFew.all; ++i) files.push_back(Connect(kGpu));
  EXPECT_TRUE(connections_.Find(PeerOf(files.back())).ok());
  EXPECT_EQ(Connect(kGpu).get(), -1);
  EXPECT_EQ(Connect(kAnna).get(), -1);
  files.clear();
  EXPECT_GE(Connect(kAnna).get(), 0);
}

TEST_F(ConnectionsTest, WhoeverCanNotBeProvenIsOneUserAndToldWhy) {
  const base::Error why{base::Code::kDenied, "who is at the other end is not known"};
  std::vector<peer::OpenFile> files;
  for (size_t i = 0; i < kFew.of_user + kFew.beyond; ++i) {
    files.emplace_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_TRUE(connections_.Add(files.back().get(), {"127.0.0.1:40000", why}));
  }
  EXPECT_EQ(connections_.Find(PeerOf(files[0]))->user.error().message, why.message);
  EXPECT_EQ(CodeOf(files[2]), base::Code::kExhausted);
}

TEST_F(ConnectionsTest, OverTlsAnAddressHasTheBoundOfAUser) {
  std::vector<peer::OpenFile> files;
  const auto connect = [&](const std::string& address) {
    files.emplace_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const base::Error unknown{base::Code::kDenied, "over TLS"};
    return connections_.Add(files.back().get(), {address, unknown, true});
  };
  EXPECT_TRUE(connect("10.0.0.7:40000"));
  EXPECT_TRUE(connect("10.0.0.7:40001"));
  EXPECT_FALSE(connect("10.0.0.7:40002"));
  EXPECT_TRUE(connect("10.0.0.8:40000"));
  files.front().Close();
  EXPECT_TRUE(connect("10.0.0.7:40003")) << "there is room again";
}

}  // namespace
}  // namespace trainctl::rpc
