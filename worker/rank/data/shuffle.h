// Fisher–Yates (Durstenfeld 1964) by counted random numbers.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "common/base/philox.h"

namespace trainctl::data {

// Uniform below `bound`, from 64 random bits: multiply and take the high half. The bias is below
// bound / 2^64.
inline uint64_t UniformBelow(uint64_t bound, uint32_t high, uint32_t low) {
  const unsigned __int128 product =
      static_cast<unsigned __int128>(uint64_t{high} << 32 | low) * bound;
  return static_cast<uint64_t>(product >> 64);
}

// A permutation that is a function of (seed, stream, instance, size) alone.
inline void Shuffle(int64_t seed, base::RandomStream stream, uint32_t instance,
                    std::vector<int64_t>* values) {
  for (uint64_t i = values->size(); i > 1; --i) {
    const base::PhiloxWords random =
        base::Philox(static_cast<uint64_t>(seed), stream, static_cast<uint32_t>(i),
                     static_cast<uint32_t>(i >> 32), instance);
    std::swap((*values)[i - 1], (*values)[UniformBelow(i, random.word[0], random.word[1])]);
  }
}

}  // namespace trainctl::data
