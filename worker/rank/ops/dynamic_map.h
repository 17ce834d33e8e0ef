// bitsandbytes' 8-bit dynamic data type (Dettmers 2015, arXiv:1511.04561; block-wise in Dettmers et
// al. 2022, arXiv:2110.02861): 256 values within [−1, 1], dense near 0. A number is kept as the
// code of the value nearest to it, of the lower one in the middle. Thread-safe.
#pragma once

#include <ATen/core/Tensor.h>

namespace trainctl::ops {

// [256] fp32, ascending; value i is what code i means. Signed, or of non-negative numbers only,
// with twice as many.
at::Tensor DynamicMap(bool is_signed);

// [255] fp32: the code of x is the number of bounds below x.
at::Tensor DynamicBounds(const at::Tensor& map);

// fused::DynamicTables as bytes on the device, for the fused kernels.
at::Tensor DynamicTables(c10::Device device);

}  // namespace trainctl::ops
