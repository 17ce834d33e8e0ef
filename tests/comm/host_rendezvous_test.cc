#include "worker/rank/comm/host_rendezvous.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <future>
#include <span>

#include "tests/comm/ranks.h"
#include "worker/rank/comm/comm_error.h"
#include "worker/rank/comm/endpoints.h"
#include "worker/rank/comm/greeting.h"
#include "worker/rank/comm/handshake.h"
#include "worker/rank/comm/hex.h"

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
              HasSubstr("is not rank 0 of this group: it does not know this attempt's secret"));

  const auto sockets = JoinMesh(blackboard.OptionsFor(1, 2));
  EXPECT_TRUE(sockets[0].is_open());
  EXPECT_TRUE(rank0.get()[1].is_open());
}

Endpoint EndpointIn(const std::string& blob) {
  const size_t colon = blob.find(':');
  return {blob.substr(0, colon), static_cast<uint16_t>(std::stoi(blob.substr(colon + 1)))};
}

// Ten of them would take ten times the patience with each, one after another.
TEST(HostRendezvous, SilentStrangersHoldUpNobody) {
  Blackboard blackboard;
  JoinOptions options = blackboard.OptionsFor(0, 2);
  options.timeout_seconds = 30;
  auto rank0 = std::async(std::launch::async, [&] { return JoinMesh(options); });
  const Deadline deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  std::vector<Socket> strangers;
  for (int i = 0; i < 10; ++i) {
    strangers.push_back(Connect(EndpointIn(blackboard.AwaitBlob()), deadline));
  }
  JoinMesh(blackboard.OptionsFor(1, 2));
  EXPECT_TRUE(rank0.get()[1].is_open());
}

// As many as may be there at the same time, and more: the oldest make room.
TEST(HostRendezvous, ManySilentStrangersHoldUpNobodyEither) {
  Blackboard blackboard;
  auto rank0 =
      std::async(std::launch::async, [&] { return JoinMesh(blackboard.OptionsFor(0, 2)); });
  const Deadline deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  std::vector<Socket> strangers;
  for (int i = 0; i < 300; ++i) {
    strangers.push_back(Connect(EndpointIn(blackboard.AwaitBlob()), deadline));
  }
  JoinMesh(blackboard.OptionsFor(1, 2));
  EXPECT_TRUE(rank0.get()[1].is_open());
}

constexpr std::string_view kSecret = "00112233445566778899aabbccddeeff";

// Says what it heard, after an answer of its own.
std::vector<std::byte> ImpersonateRank0(const Socket& listener, std::span<const std::byte> answer) {
  const Deadline deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  pollfd entry{listener.fd(), POLLIN, 0};
  poll(&entry, 1, MillisecondsUntil(deadline));
  const std::optional<Socket> socket = AcceptNow(listener);
  std::vector<std::byte> heard(sizeof(Hello));
  ReceiveAll(*socket, heard, deadline, "rank 1");
  SendAll(*socket, answer, deadline, "rank 1");
  return heard;
}

TEST(HostRendezvous, WhoListensInRank0sPlaceIsRefusedAndLearnsNothingOfTheSecret) {
  const Socket listener = Listen("127.0.0.1");
  const std::vector<std::byte> answer(sizeof(Answer), std::byte{'x'});
  auto heard = std::async(std::launch::async, [&] { return ImpersonateRank0(listener, answer); });
  const std::string blob =
      "127.0.0.1:" + std::to_string(LocalPort(listener)) + ":" + std::string(kSecret);
  EXPECT_THAT(ErrorOfJoin(Stranger(blob)),
              HasSubstr("is not rank 0 of this group: it does not know this attempt's secret"));
  EXPECT_EQ(ToHex(heard.get()).find(kSecret), std::string::npos);
}

TEST(Handshake, AProofIsOfOneSideOneRankAndTheNumbersOfBoth) {
  const Secret secret{std::byte{1}}, other{std::byte{2}};
  const Hello hello;
  Hello another;
  another.nonce[0] = std::byte{1};
  const Nonce answer{}, late{std::byte{1}};
  const Proof proof = ProofOf(Side::kListens, secret, hello, answer, 0);
  EXPECT_TRUE(Same(proof, ProofOf(Side::kListens, secret, hello, answer, 0)));
  EXPECT_FALSE(Same(proof, ProofOf(Side::kConnects, secret, hello, answer, 0)));
  EXPECT_FALSE(Same(proof, ProofOf(Side::kListens, other, hello, answer, 0)));
  EXPECT_FALSE(Same(proof, ProofOf(Side::kListens, secret, another, answer, 0)));
  EXPECT_FALSE(Same(proof, ProofOf(Side::kListens, secret, hello, late, 0)));
  EXPECT_FALSE(Same(proof, ProofOf(Side::kListens, secret, hello, answer, 1)));
}

// What a listener makes of this, in pieces of so many bytes, and of a proof behind it.
Greeting::State Hear(Greeting* greeting, std::span<const std::byte> said, size_t piece) {
  auto state = Greeting::State::kMore;
  while (!said.empty() && !greeting->Next().empty()) {
    const size_t size = std::min({piece, said.size(), greeting->Next().size()});
    std::ranges::copy(said.first(size), greeting->Next().begin());
    said = said.subspan(size);
    state = greeting->Heard(size);
  }
  return state;
}

TEST(Greeting, IsProvenInAnyPieces) {
  const Secret secret{std::byte{1}};
  const Nonce nonce{std::byte{2}};
  Hello hello{.rank = 3};
  Proof proof = ProofOf(Side::kConnects, secret, hello, nonce, 1);
  for (const size_t piece : {1u, 7u, 1000u}) {
    Greeting greeting(secret, nonce, 1);
    EXPECT_EQ(Hear(&greeting, Bytes(hello), piece), Greeting::State::kHello);
    EXPECT_TRUE(Same(greeting.answer().proof, ProofOf(Side::kListens, secret, hello, nonce, 1)));
    EXPECT_EQ(Hear(&greeting, Bytes(proof), piece), Greeting::State::kProven);
    EXPECT_EQ(greeting.hello().rank, 3);
    EXPECT_TRUE(greeting.Next().empty());
  }
}

TEST(Greeting, OfAnotherProtocolOrWithoutTheSecretIsRefused) {
  const Secret secret{std::byte{1}}, other{std::byte{2}};
  Hello hello;
  Proof proof = ProofOf(Side::kConnects, other, hello, Nonce{}, 1);
  Greeting stranger(secret, Nonce{}, 1);
  Hear(&stranger, Bytes(hello), 1000);
  EXPECT_EQ(Hear(&stranger, Bytes(proof), 1000), Greeting::State::kRefused);
  hello.magic[7] = '1';
  Greeting older(secret, Nonce{}, 1);
  EXPECT_EQ(Hear(&older, Bytes(hello), 1000), Greeting::State::kRefused);
  EXPECT_TRUE(older.Next().empty());
}

// Nobody resolves it, nor connects there.
TEST(Endpoints, WhatIsNoAddressAndPortIsRefusedByTheRanksName) {
  const auto error_of = [](const std::string& address, uint16_t port) -> std::string {
    WireEndpoint wire{.port = port};
    std::ranges::copy(address, wire.address.begin());
    try {
      return FromWire(wire, "rank 3").address == address ? "" : "another";
    } catch (const CommError& error) {
      return error.what();
    }
  };
  EXPECT_EQ(error_of("fe80::1%eth0", 1), "");
  EXPECT_EQ(error_of(std::string(61, 'a'), 1), "");
  const std::string wrong = "where rank 3 listens is malformed: expected an address and a port";
  EXPECT_EQ(error_of("127.0.0.1", 0), wrong);
  EXPECT_EQ(error_of("", 1), wrong);
  EXPECT_EQ(error_of("127.0.0.1\n", 1), wrong);
  EXPECT_EQ(error_of("\xff", 1), wrong);
  EXPECT_EQ(error_of(std::string(62, 'a'), 1), wrong) << "no zero behind it";
}

TEST(HostRendezvous, AConnectionThatSpeaksSomethingElseIsRefused) {
  Blackboard blackboard;
  auto rank0 =
      std::async(std::launch::async, [&] { return JoinMesh(blackboard.OptionsFor(0, 2)); });
  const Deadline deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  const Socket stranger = Connect(EndpointIn(blackboard.AwaitBlob()), deadline);
  SendAll(stranger, std::vector<std::byte>(sizeof(Hello), std::byte{'x'}), deadline, "rank 0");
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
        "127.0.0.1:99:00112233445566778899aabbccddeefg",
        "127.0.0.1:0:00112233445566778899aabbccddeeff", ":99:00112233445566778899aabbccddeeff",
        "a b:99:00112233445566778899aabbccddeeff"}) {
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
