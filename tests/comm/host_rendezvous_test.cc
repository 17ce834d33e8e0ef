#include "worker/rank/comm/host_rendezvous.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <future>

#include "tests/comm/ranks.h"
#include "worker/rank/comm/comm_error.h"

namespace trainctl::comm {
namespace {

using ::testing::HasSubstr;

std::string ErrorOfJoin(const JoinOptions& options) {
  try {
    JoinMesh(options);
  } catch (const CommError& error) {
    return error.what();
  }
  return "";
}

// A second rank 1 that was told another blob.
JoinOptions Stranger(const std::string& blob) {
  JoinOptions options;
  options.rank = 1;
  options.world_size = 2;
  options.timeout_seconds = 60;
  options.await_blob = [blob] { return blob; };
  return options;
}

TEST(HostRendezvous, TheBlobIsAddressPortAndSecret) {
  RunRanks(2, [](JoinOptions options) {
    const auto publish = options.publish;
    options.publish = [&](const std::string& blob) {
      EXPECT_THAT(blob, ::testing::MatchesRegex("127\\.0\\.0\\.1:[0-9]+:[0-9a-f]+"));
      EXPECT_EQ(blob.size() - blob.rfind(':') - 1, 32u);
      publish(blob);
    };
    JoinMesh(options);
  });
}

TEST(HostRendezvous, EveryPairOfRanksIsConnected) {
  RunRanks(4, [](const JoinOptions& options) {
    const auto sockets = JoinMesh(options);
    ASSERT_EQ(sockets.size(), 4u);
    const Deadline deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    for (int64_t peer = 0; peer < 4; ++peer) {
      EXPECT_EQ(sockets[static_cast<size_t>(peer)].is_open(), peer != options.rank);
    }
    const std::byte own{static_cast<unsigned char>(options.rank)};
    for (int64_t peer = 0; peer < 4; ++peer) {
      if (peer != options.rank) {
        SendAll(sockets[static_cast<size_t>(peer)], {&own, 1}, deadline, "peer");
      }
    }
    for (int64_t peer = 0; peer < 4; ++peer) {
      std::byte theirs{255};
      if (peer != options.rank) {
        ReceiveAll(sockets[static_cast<size_t>(peer)], {&theirs, 1}, deadline, "peer");
        EXPECT_EQ(std::to_integer<int64_t>(theirs), peer);
      }
    }
  });
}

std::string PeerAddress(const Socket& socket) {
  sockaddr_in address{};
  socklen_t length = sizeof address;
  getpeername(socket.fd(), reinterpret_cast<sockaddr*>(&address), &length);
  char text[INET_ADDRSTRLEN] = "";
  return inet_ntop(AF_INET, &address.sin_addr, text, sizeof text);
}

// As on hosts that reach each other over more than one link.
TEST(HostRendezvous, EachRankConnectsFromTheAddressThatItListensAt) {
  const auto address = [](int64_t rank) { return "127.0.0." + std::to_string(rank + 2); };
  RunRanks(3, [&](JoinOptions options) {
    options.bind_address = address(options.rank);
    const auto sockets = JoinMesh(options);
    for (int64_t peer = 0; peer < 3; ++peer) {
      if (peer != options.rank) {
        EXPECT_EQ(PeerAddress(sockets[static_cast<size_t>(peer)]), address(peer));
      }
    }
  });
}

TEST(HostRendezvous, JoinsOverIpv6) {
  try {
    Listen("::1");
  } catch (const CommError& error) {
    GTEST_SKIP() << "this host has no IPv6 loopback: " << error.what();
  }
  RunRanks(2, [](JoinOptions options) {
    options.bind_address = "::1";
    EXPECT_TRUE(JoinMesh(options)[options.rank == 0 ? 1 : 0].is_open());
  });
}

TEST(HostRendezvous, AStrangerWithAWrongSecretIsRefusedAndTheGroupStillForms) {
  Blackboard blackboard;
  auto rank0 =
      std::async(std::launch::async, [&] { return JoinMesh(blackboard.OptionsFor(0, 2)); });
  std::string blob = blackboard.AwaitBlob();
  blob.back() = blob.back() == '0' ? '1' : '0';
  EXPECT_THAT(ErrorOfJoin(Stranger(blob)),
              HasSubstr("refuses whoever does not show this attempt's secret"));

  const auto sockets = JoinMesh(blackboard.OptionsFor(1, 2));
  EXPECT_TRUE(sockets[0].is_open());
  EXPECT_TRUE(rank0.get()[1].is_open());
}

TEST(HostRendezvous, AConnectionThatSpeaksSomethingElseIsRefused) {
  Blackboard blackboard;
  auto rank0 =
      std::async(std::launch::async, [&] { return JoinMesh(blackboard.OptionsFor(0, 2)); });
  const std::string blob = blackboard.AwaitBlob();
  const size_t colon = blob.find(':');
  const Endpoint endpoint{blob.substr(0, colon),
                          static_cast<uint16_t>(std::stoi(blob.substr(colon + 1)))};
  const Deadline deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  const Socket stranger = Connect(endpoint, deadline);
  SendAll(stranger, std::vector<std::byte>(96, std::byte{'x'}), deadline, "rank 0");
  std::byte answer;
  EXPECT_THROW(ReceiveAll(stranger, {&answer, 1}, deadline, "rank 0"), CommError);

  JoinMesh(blackboard.OptionsFor(1, 2));
  EXPECT_TRUE(rank0.get()[1].is_open());
}

TEST(HostRendezvous, ATimeoutNamesTheRanksThatAreMissing) {
  Blackboard blackboard;
  auto rank1 =
      std::async(std::launch::async, [&] { return ErrorOfJoin(blackboard.OptionsFor(1, 4)); });
  JoinOptions options = blackboard.OptionsFor(0, 4);
  options.timeout_seconds = 5;
  const std::string error = ErrorOfJoin(options);
  EXPECT_THAT(error, HasSubstr("rank 0 waited for rank 2, 3 of 4"));
  EXPECT_THAT(rank1.get(), HasSubstr("waited for rank 0 to introduce"));
}

TEST(HostRendezvous, RanksOfAnotherWorldSizeAreAnError) {
  Blackboard blackboard;
  auto rank1 =
      std::async(std::launch::async, [&] { return ErrorOfJoin(blackboard.OptionsFor(1, 3)); });
  EXPECT_THAT(ErrorOfJoin(blackboard.OptionsFor(0, 2)),
              HasSubstr("rank 1 joins a group of 3, this one has 2"));
  EXPECT_NE(rank1.get(), "");
}

TEST(HostRendezvous, MalformedBlobsAreErrors) {
  for (const char* blob :
       {"", ":", "127.0.0.1", "127.0.0.1:99", "127.0.0.1:port:00112233445566778899aabbccddeeff",
        "127.0.0.1:99:0011", "127.0.0.1:99999:00112233445566778899aabbccddeeff",
        "127.0.0.1:99:00112233445566778899aabbccddeefg"}) {
    EXPECT_THAT(ErrorOfJoin(Stranger(blob)), HasSubstr("rendezvous blob")) << blob;
  }
}

TEST(HostRendezvous, AnAddressThatIsNotOfThisHostIsNamed) {
  JoinOptions options = Stranger("");
  options.bind_address = "192.0.2.1";
  EXPECT_THAT(ErrorOfJoin(options), HasSubstr("192.0.2.1"));
}

}  // namespace
}  // namespace trainctl::comm
