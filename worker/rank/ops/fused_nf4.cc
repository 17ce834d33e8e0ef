#include "worker/rank/ops/fused_nf4.h"

#include <ATen/ops/empty.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>

#include "common/base/check.h"
#include "worker/rank/ops/cuda_element.h"
#include "worker/rank/ops/fused.h"

namespace trainctl::ops {

Nf4Matrix FusedNf4Quantize(const at::Tensor& values, bool double_quantization) {
  CHECK(values.numel() % kNf4Block == 0) << values.numel() << " elements";
  const at::Tensor dense =
      (values.scalar_type() == at::kBFloat16 ? values : values.to(at::kFloat)).contiguous();
  Nf4Matrix matrix{
      .shape = values.sizes().vec(),
      .codes = at::empty({values.numel() / 2}, values.options().dtype(at::kByte)),
      .scales = at::empty({values.numel() / kNf4Block}, values.options().dtype(at::kFloat))};
  C10_CUDA_CHECK(fused::Nf4Quantize(ElementType(dense.scalar_type()), dense.numel(),
                                    dense.const_data_ptr(), matrix.codes.data_ptr<uint8_t>(),
                                    matrix.scales.data_ptr<float>(),
                                    c10::cuda::getCurrentCUDAStream()));
  if (double_quantization) CompressScales(matrix);
  return matrix;
}

void FusedNf4DequantizeInto(const at::Tensor& out, const Nf4Matrix& matrix, const at::Tensor& map) {
  const auto floats = [](const at::Tensor& tensor) {
    return tensor.defined() ? tensor.const_data_ptr<float>() : nullptr;
  };
  C10_CUDA_CHECK(fused::Nf4Dequantize(
      {.count = out.numel(),
       .codes = matrix.codes.const_data_ptr<uint8_t>(),
       .scales = floats(matrix.scales),
       .scale_codes =
           matrix.scale_codes.defined() ? matrix.scale_codes.const_data_ptr<uint8_t>() : nullptr,
       .scale_scales = floats(matrix.scale_scales),
       .offset = floats(matrix.offset),
       .map = floats(map)},
      ElementType(out.scalar_type()), out.data_ptr(), c10::cuda::getCurrentCUDAStream()));
}

}  // namespace trainctl::ops
