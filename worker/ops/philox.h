// Philox4x32-10 for host and device: the counter-based generator of Salmon, Moraes, Dror, Shaw: "Parallel Random Numbers: As Easy as
// 1, 2, 3" (SC 2011). The numbers are those of worker/data/philox.h, which this room may not know.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define TRAINCTL_HOST_DEVICE __host__ __device__
#else
#define TRAINCTL_HOST_DEVICE
#endif

namespace trainctl::ops {

struct PhiloxWords {
  uint32_t word[4];
};

// Four independent uniform 32-bit numbers for this counter and key.
TRAINCTL_HOST_DEVICE inline PhiloxWords Philox(PhiloxWords counter, uint64_t key) {
  uint32_t low = static_cast<uint32_t>(key), high = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * counter.word[0], b = uint64_t{0xCD9E8D57} * counter.word[2];
    counter = {{static_cast<uint32_t>(b >> 32) ^ counter.word[1] ^ low, static_cast<uint32_t>(b),
                static_cast<uint32_t>(a >> 32) ^ counter.word[3] ^ high, static_cast<uint32_t>(a)}};
    low += 0x9E3779B9;
    high += 0xBB67AE85;
  }
  return counter;
}

// Dropout's own use of it: element e of a sample's [length, columns] input of one module draws 16 bits, half e mod 2 of word e / 2 mod 4 of
// the counter (e / 8, sample, module, 4), keyed by the seed. An element is dropped where they are below the threshold.
constexpr int kDropoutGroup = 8;
constexpr uint32_t kDropoutStream = 4;

TRAINCTL_HOST_DEVICE inline PhiloxWords DropoutWords(uint64_t seed, uint64_t sample, uint32_t module, uint64_t group) {
  return Philox({{static_cast<uint32_t>(group), static_cast<uint32_t>(sample), module, kDropoutStream}}, seed);
}

TRAINCTL_HOST_DEVICE inline bool DropoutKeeps(const PhiloxWords& words, int lane, uint32_t threshold) {
  return (words.word[lane / 2] >> (16 * (lane % 2)) & 0xFFFF) >= threshold;
}

}  // namespace trainctl::ops
