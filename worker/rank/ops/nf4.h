// Matrices in 4 bits, stored bit for bit as bitsandbytes stores them: row-major, in blocks of 64
// elements. Each element is the nearest NF4 value of x / (the block's largest magnitude). Two lie
// in a byte, the even one in the high nibble. Double quantization keeps those magnitudes, less
// their mean, as 8-bit dynamic codes in blocks of 256.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "worker/rank/ops/nf4_table.h"

namespace trainctl::ops {

struct Nf4Matrix {
  std::vector<int64_t> shape;
  at::Tensor codes;  // [numel / 2] uint8
  at::Tensor
      scales;  // [numel / 64] fp32; undefined under double quantization, where these are instead:
  at::Tensor scale_codes;   // [numel / 64] uint8
  at::Tensor scale_scales;  // [⌈numel / 64 / 256⌉] fp32
  at::Tensor offset;        // [] fp32, the mean that was taken off

  int64_t bytes() const;
};

// values: a multiple of 64 elements (CHECK), of any dtype, on any device. The result lies on the
// same device.
Nf4Matrix Nf4Quantize(const at::Tensor& values, bool double_quantization);

// scales, or what double quantization made of them.
at::Tensor Nf4Scales(const Nf4Matrix& matrix);

// out, dense, of any dtype and as many elements = the matrix's values: the product in fp32, rounded
// once.
void Nf4DequantizeInto(const at::Tensor& out, const Nf4Matrix& matrix);

// Replaces scales by what double quantization keeps of them.
void CompressScales(Nf4Matrix& matrix);

}  // namespace trainctl::ops
