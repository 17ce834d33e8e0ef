// How two ranks prove to each other that they know the secret of their attempt. It never goes over
// the wire: each makes an HMAC of what both have said, random numbers of both included.
// Who connects says Hello. Who listens answers with a number of its own and its proof. Then follows
// the proof of who connects.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace trainctl::comm {

using Secret = std::array<std::byte, 16>;
using Nonce = std::array<std::byte, 32>;
using Proof = std::array<std::byte, 32>;  // HMAC-SHA-256

inline constexpr std::array<char, 8> kMagic = {'T', 'C', 'T', 'L', 'M', 'S', 'H', '2'};

struct WireEndpoint {
  std::array<char, 62> address{};  // zero-padded
  uint16_t port = 0;
};

struct Hello {
  std::array<char, 8> magic = kMagic;
  Nonce nonce{};
  int32_t rank = 0;
  int32_t world_size = 0;
  WireEndpoint listens_at;
};

struct Answer {
  Nonce nonce{};
  Proof proof{};
};
static_assert(sizeof(WireEndpoint) == 64 && sizeof(Hello) == 112 && sizeof(Answer) == 64,
              "no padding on the wire");

template <class T>
std::span<std::byte> Bytes(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

// CommError: the kernel gave no random bytes.
void FillRandom(std::span<std::byte> bytes);

// Of one side of the connection that `hello` opened to the rank `listener`.
enum class Side : uint8_t { kConnects, kListens };
Proof ProofOf(Side side, const Secret& secret, const Hello& hello, const Nonce& answer,
              int64_t listener);

// In time that does not depend on where they differ.
bool Same(const Proof& a, const Proof& b);

}  // namespace trainctl::comm
