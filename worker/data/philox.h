// Philox4x32-10, the counter-based generator of Salmon, Moraes, Dror, Shaw: "Parallel Random Numbers: As Easy as 1, 2, 3" (SC 2011).
// Randomness is counted, not kept: a number is a pure function of (seed, stream, place), so it is the same under recomputation, at any
// world size and after a resume. Shuffles use it here; the engine uses it for initial weights and dropout.
#pragma once

#include <array>
#include <cstdint>

namespace trainctl::data {

using PhiloxCounter = std::array<uint32_t, 4>;
using PhiloxKey = std::array<uint32_t, 2>;

constexpr PhiloxKey KeyOf(int64_t seed) {
  const uint64_t bits = static_cast<uint64_t>(seed);
  return {static_cast<uint32_t>(bits), static_cast<uint32_t>(bits >> 32)};
}

// Four independent uniform 32-bit numbers for this counter and key.
constexpr std::array<uint32_t, 4> Philox(PhiloxCounter counter, PhiloxKey key) {
  constexpr uint64_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
  constexpr uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = kMultiplier0 * counter[0];
    const uint64_t product1 = kMultiplier1 * counter[2];
    counter = {static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(product1),
               static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(product0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

// What a number is for: word 3 of the counter, so that no two uses ever share a number under one seed.
// The other three words are the use's own place (element, row, step, layer …).
enum class RandomStream : uint32_t { kSplit = 1, kEpochOrder = 2, kInitialWeights = 3, kDropout = 4 };

constexpr std::array<uint32_t, 4> Philox(int64_t seed, RandomStream stream, uint32_t a, uint32_t b = 0, uint32_t c = 0) {
  return Philox(PhiloxCounter{a, b, c, static_cast<uint32_t>(stream)}, KeyOf(seed));
}

// [0, 1), with 24 bits: exact in fp32.
constexpr float UniformFloat(uint32_t bits) { return static_cast<float>(bits >> 8) * 0x1p-24f; }

}  // namespace trainctl::data
