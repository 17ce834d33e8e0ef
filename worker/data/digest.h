// A fingerprint of bytes, to tell whether two runs saw the same data: XXH64 with seed 0 (Yann Collet, "xxHash fast digest algorithm",
// doc/xxhash_spec.md of the xxHash project). Not cryptographic: it guards against mistakes, not against malice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace trainctl::data {

uint64_t Xxh64(std::span<const std::byte> bytes);

// "xxh64:" and 16 hexadecimal digits.
std::string Digest(std::span<const std::byte> bytes);

}  // namespace trainctl::data
