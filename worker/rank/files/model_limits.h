// What a model's configuration may say at most: far beyond any model, and small enough that no
// count of parameters or bytes overflows 63 bits.
#pragma once

#include <cstdint>

namespace trainctl::files {

constexpr int64_t kMaxLayers = 1 << 11, kMaxHeads = 1 << 12, kMaxHeadDim = 1 << 12,
                  kMaxHidden = 1 << 20, kMaxVocab = 1 << 24;

}  // namespace trainctl::files
