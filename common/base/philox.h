// Philox4x32-10, a counter-based generator for host and device. Source: Salmon, Moraes, Dror, Shaw,
// "Parallel Random Numbers: As Easy as 1, 2, 3" (SC 2011). Randomness is counted, not kept: a
// number is a pure function of (seed, stream, place). So it is the same under recomputation, at any
// world size and after a resume. Pure.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define TRAINCTL_HOST_DEVICE __host__ __device__
#else
#define TRAINCTL_HOST_DEVICE
#endif

namespace trainctl::base {

struct PhiloxWords {
  uint32_t word[4];
};

// Four independent uniform 32-bit numbers for this counter and key.
TRAINCTL_HOST_DEVICE constexpr PhiloxWords Philox(PhiloxWords counter, uint64_t key) {
  uint32_t low = static_cast<uint32_t>(key), high = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * counter.word[0],
                   b = uint64_t{0xCD9E8D57} * counter.word[2];
    counter = {{static_cast<uint32_t>(b >> 32) ^ counter.word[1] ^ low, static_cast<uint32_t>(b),
                static_cast<uint32_t>(a >> 32) ^ counter.word[3] ^ high, static_cast<uint32_t>(a)}};
    low += 0x9E3779B9;
    high += 0xBB67AE85;
  }
  return counter;
}

// What a number is for: word 3 of the counter, so that no two uses ever share a number under one
// seed. Fixed: other values would be other shuffles and masks.
enum class RandomStream : uint32_t {
  kSplit = 1,
  kEpochOrder = 2,
  kDropout = 4,
  kContinuation = 5,
  kPacking = 6
};

// (a, b, c): the use's own place (element, row, step, layer …).
TRAINCTL_HOST_DEVICE constexpr PhiloxWords Philox(uint64_t seed, RandomStream stream, uint32_t a,
                                                  uint32_t b = 0, uint32_t c = 0) {
  return Philox({{a, b, c, static_cast<uint32_t>(stream)}}, seed);
}

}  // namespace trainctl::base
