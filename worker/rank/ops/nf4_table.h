// NF4's sixteen values, the quantiles of a normal distribution (Dettmers et al. 2023, QLoRA), as
// bitsandbytes has them.
#pragma once

#include "common/model/layout.h"

namespace trainctl::ops {

struct Nf4Table {
  float code[16] = {-1.0f,
                    -0.6961928009986877f,
                    -0.5250730514526367f,
                    -0.39491748809814453f,
                    -0.28444138169288635f,
                    -0.18477343022823334f,
                    -0.09105003625154495f,
                    0.0f,
                    0.07958029955625534f,
                    0.16093020141124725f,
                    0.24611230194568634f,
                    0.33791524171829224f,
                    0.44070982933044434f,
                    0.5626170039176941f,
                    0.7229568362236023f,
                    1.0f};
  float bound[15] = {};  // the code of x is the number of bounds below x
};

constexpr Nf4Table MakeNf4Table() {
  Nf4Table table;
  for (int i = 0; i < 15; ++i) table.bound[i] = (table.code[i] + table.code[i + 1]) / 2;
  return table;
}

inline constexpr int kNf4Block = job::kNf4Block;
// Scales that share one under double quantization.
inline constexpr int kNf4ScaleBlock = 256;
// Smaller scales are taken for this one where they are divided by.
inline constexpr float kNf4LeastScale = 1e-38f;

}  // namespace trainctl::ops
