// Dropout's Philox numbers, the same in the plain and the fused kernel. Element e of a sample's
// [length, columns] input of one module draws 16 bits. They are half e mod 2 of word e / 2 mod 4 at
// the place (e / 8, sample, module). The element is dropped if they are below the threshold.
#pragma once

#include "common/base/philox.h"

namespace trainctl::ops {

constexpr int kDropoutGroup = 8;  // elements that share a draw

TRAINCTL_HOST_DEVICE inline base::PhiloxWords DropoutWords(uint64_t seed, uint64_t sample,
                                                           uint32_t module, uint64_t group) {
  return base::Philox(seed, base::RandomStream::kDropout, static_cast<uint32_t>(group),
                      static_cast<uint32_t>(sample), module);
}

TRAINCTL_HOST_DEVICE inline bool DropoutKeeps(const base::PhiloxWords& words, int lane,
                                              uint32_t threshold) {
  return (words.word[lane / 2] >> (16 * (lane % 2)) & 0xFFFF) >= threshold;
}

}  // namespace trainctl::ops
