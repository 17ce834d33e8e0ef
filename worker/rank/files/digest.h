// A fingerprint of bytes: XXH64 with seed 0. It tells whether two runs saw the same data, and
// whether a file still holds what was written. Source: Yann Collet, "xxHash fast digest algorithm",
// doc/xxhash_spec.md of the xxHash project. Not cryptographic: it guards against mistakes and
// decay, not against malice.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace trainctl::files {

// Of bytes that come in pieces. Not thread-safe.
class Xxh64Stream {
 public:
  Xxh64Stream();
  void Update(std::span<const std::byte> bytes);
  // Of everything so far.
  uint64_t Value() const;
  std::string Digest() const;

 private:
  static constexpr size_t kStripeBytes = 32;

  std::array<uint64_t, 4> lanes_;
  std::array<std::byte, kStripeBytes> rest_;  // its first total_bytes_ % kStripeBytes
  uint64_t total_bytes_ = 0;
};

uint64_t Xxh64(std::span<const std::byte> bytes);

// "xxh64:" and 16 hexadecimal digits.
std::string Digest(std::span<const std::byte> bytes);

}  // namespace trainctl::files
