// What ranks on CPUs tell each other until they are a group. The first byte chooses what it is: its
// place in kReaders.
#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "common/base/check.h"
#include "tests/fuzz/targets.h"
#include "worker/rank/comm/comm_error.h"
#include "worker/rank/comm/endpoints.h"
#include "worker/rank/comm/greeting.h"

namespace trainctl::fuzz {
namespace {

using State = comm::Greeting::State;

constexpr comm::Secret kSecret = {std::byte{1}};
constexpr comm::Nonce kNonce = {std::byte{2}};
constexpr int64_t kListener = 1, kFirst = 2, kWorldSize = 4;

// What is said in errors goes to the coordinator as text.
bool IsPlain(std::string_view text) {
  return text.size() < 512 && std::ranges::all_of(text, [](char c) { return c >= ' '; });
}

// False where it is refused.
template <class Read>
bool IsTaken(Read read) {
  try {
    return read();
  } catch (const comm::CommError& error) {
    CHECK(IsPlain(error.what())) << error.what();
    return false;
  }
}

void CheckEndpoint(const comm::Endpoint& endpoint) {
  CHECK(endpoint.port != 0 && !endpoint.address.empty() && IsPlain(endpoint.address));
  const comm::Endpoint again = comm::FromWire(comm::ToWire(endpoint), "rank 0");
  CHECK(again.address == endpoint.address && again.port == endpoint.port) << again.address;
}

bool ReadBlob(std::string_view blob) {
  return IsTaken([&] {
    const comm::Invitation invitation = comm::FromBlob(blob);
    CheckEndpoint(invitation.rank0);
    const comm::Invitation again = comm::FromBlob(comm::ToBlob(invitation));
    CHECK(again.rank0.address == invitation.rank0.address) << again.rank0.address;
    CHECK(again.secret == invitation.secret);
    return true;
  });
}

// Rank 0's table.
bool ReadEndpoints(std::string_view bytes) {
  bool understood = false;
  for (comm::WireEndpoint wire; bytes.size() >= sizeof wire; bytes.remove_prefix(sizeof wire)) {
    std::memcpy(&wire, bytes.data(), sizeof wire);
    understood |= IsTaken([&] {
      CheckEndpoint(comm::FromWire(wire, "rank 3"));
      return true;
    });
  }
  return understood;
}

struct Heard {
  comm::Greeting greeting;
  State state = State::kMore;
  size_t bytes = 0;
};

// All of it that is heard, in pieces of at most `most` bytes.
void Hear(std::string_view said, size_t most, Heard* heard) {
  while (!said.empty() && !heard->greeting.Next().empty()) {
    const size_t size = std::min({said.size(), most, heard->greeting.Next().size()});
    std::memcpy(heard->greeting.Next().data(), said.data(), size);
    said.remove_prefix(size);
    heard->bytes += size;
    heard->state = heard->greeting.Heard(size);
    if (heard->state == State::kHello && most > 1) return;  // who knows the secret goes on
  }
}

// A size of pieces, what the first byte of an honest proof is changed by, and what is said.
bool ReadGreeting(std::string_view bytes) {
  if (bytes.size() < 2) return false;
  const size_t most = size_t{2} + static_cast<unsigned char>(bytes[0]);
  const auto change = static_cast<std::byte>(bytes[1]);
  const std::string_view said = bytes.substr(2);

  Heard stranger{comm::Greeting(kSecret, kNonce, kListener)};
  Hear(said, 1, &stranger);
  CHECK(stranger.state != State::kProven) << "by who does not know the secret";
  CHECK(stranger.bytes <= sizeof(comm::Hello) + sizeof(comm::Proof)) << stranger.bytes;

  Heard rank{comm::Greeting(kSecret, kNonce, kListener)};
  Hear(said, most, &rank);
  CHECK((rank.state == State::kHello) ==
        (stranger.bytes >= sizeof(comm::Hello) && stranger.greeting.hello().magic == comm::kMagic))
      << "whatever the pieces are";
  if (rank.state != State::kHello) return false;
  const comm::Hello& hello = rank.greeting.hello();
  comm::Proof proof =
      comm::ProofOf(comm::Side::kConnects, kSecret, hello, rank.greeting.answer().nonce, kListener);
  proof[0] ^= change;
  Hear({reinterpret_cast<const char*>(proof.data()), proof.size()}, most, &rank);
  CHECK((rank.state == State::kProven) == (change == std::byte{0})) << static_cast<int>(rank.state);
  CHECK(rank.greeting.Next().empty());
  return rank.state == State::kProven && IsTaken([&] {
           if (!comm::IsOfGroup(hello, kFirst, kWorldSize)) return false;
           CHECK(hello.rank >= kFirst && hello.rank < kWorldSize) << hello.rank;
           CheckEndpoint(comm::FromWire(hello.listens_at, "rank 2"));
           return true;
         });
}

constexpr std::array kReaders = {ReadBlob, ReadEndpoints, ReadGreeting};

}  // namespace

bool ReadGreetings(std::string_view bytes) {
  if (bytes.empty()) return false;
  const size_t kind = static_cast<unsigned char>(bytes.front()) % kReaders.size();
  return kReaders[kind](bytes.substr(1));
}

}  // namespace trainctl::fuzz
