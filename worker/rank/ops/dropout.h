// Dropout (Srivastava et al. 2014) whose masks are counted, not kept. A mask is a function of
// (seed, sample, module, element) alone. So it is the same under recomputation, at any world size
// and after a resume. It is the same however a batch is split into micro batches.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace trainctl::ops {

// The samples of a micro batch. samples undefined: evaluation, nothing is dropped.
struct DropoutRows {
  int64_t seed = 0;
  at::Tensor samples;  // [batch] int64, on the device: each sample's number among all that the run
                       // trains on (the low 32 bits count)
  int64_t length = 1;  // positions of a sample
};

// What one module drops of its input, rows first_row … of the micro batch's [batch · length,
// columns].
struct DropoutMask {
  DropoutRows rows;
  int64_t first_row = 0;
  uint32_t module = 0;
  double probability = 0;

  // Of 65,536: the probability rounded to 16 bits.
  uint32_t threshold() const;
  // Of what is kept: 1 / (1 − the rounded probability).
  double scale() const;
};

// [count, columns] bool: what is kept. Of samples on the CPU.
at::Tensor KeepMask(const DropoutMask& mask, int64_t count, int64_t columns);

}  // namespace trainctl::ops
