#include "worker/rank/ops/nf4.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/bucketize.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/stack.h>

#include "common/base/check.h"
#include "worker/rank/ops/dynamic_map.h"

namespace trainctl::ops {
namespace {

constexpr Nf4Table kTable = MakeNf4Table();

at::Tensor OnDevice(const float* values, int64_t count, at::Device device) {
  return at::from_blob(const_cast<float*>(values), {count}, at::TensorOptions().dtype(at::kFloat))
      .to(device, at::kFloat, false, true);
}

// Codes of each row of blocks [n, elements], and each row's largest magnitude.
std::pair<at::Tensor, at::Tensor> Encode(const at::Tensor& blocks, const at::Tensor& bounds) {
  const at::Tensor scales = at::amax(blocks.abs(), {1});
  const at::Tensor scaled =
      (blocks * scales.clamp_min(kNf4LeastScale).reciprocal().unsqueeze(1)).clamp(-1, 1);
  return {at::bucketize(scaled, bounds, /*out_int32=*/true).to(at::kByte), scales};
}

// [n] as rows of kNf4ScaleBlock, the last one filled up with zeros.
at::Tensor ScaleBlocks(const at::Tensor& values) {
  const int64_t missing = (kNf4ScaleBlock - values.numel() % kNf4ScaleBlock) % kNf4ScaleBlock;
  return at::constant_pad_nd(values, {0, missing}, 0).view({-1, kNf4ScaleBlock});
}

}  // namespace

int64_t Nf4Matrix::bytes() const {
  int64_t total = 0;
  for (const at::Tensor* tensor : {&codes, &scales, &scale_codes, &scale_scales, &offset}) {
    if (tensor->defined()) total += static_cast<int64_t>(tensor->nbytes());
  }
  return total;
}

void CompressScales(Nf4Matrix& matrix) {
  const at::Tensor bounds =
      DynamicBounds(DynamicMap(/*is_signed=*/true)).to(matrix.scales.device());
  matrix.offset = matrix.scales.mean();
  auto [codes, scales] = Encode(ScaleBlocks(matrix.scales - matrix.offset), bounds);
  matrix.scale_codes = codes.view({-1}).narrow(0, 0, matrix.scales.numel()).clone();
  matrix.scale_scales = scales;
  matrix.scales.reset();
}

Nf4Matrix Nf4Quantize(const at::Tensor& values, bool double_quantization) {
  CHECK(values.numel() % kNf4Block == 0) << values.numel() << " elements";
  const at::Tensor blocks = values.to(at::kFloat).reshape({-1, kNf4Block});
  auto [codes, scales] = Encode(blocks, OnDevice(kTable.bound, 15, values.device()));
  const at::Tensor pairs = codes.view({-1, 2});
  Nf4Matrix matrix{.shape = values.sizes().vec(),
                   .codes = pairs.select(1, 0) * 16 + pairs.select(1, 1),
                   .scales = scales};
  if (double_quantization) CompressScales(matrix);
  return matrix;
}

at::Tensor Nf4Scales(const Nf4Matrix& matrix) {
  if (matrix.scales.defined()) return matrix.scales;
  const at::Tensor map = DynamicMap(/*is_signed=*/true).to(matrix.codes.device());
  const at::Tensor wide = map.index_select(0, matrix.scale_codes.to(at::kInt));
  const at::Tensor scaled = ScaleBlocks(wide) * matrix.scale_scales.unsqueeze(1);
  return scaled.view({-1}).narrow(0, 0, wide.numel()) + matrix.offset;
}

void Nf4DequantizeInto(const at::Tensor& out, const Nf4Matrix& matrix) {
  const at::Tensor code = OnDevice(kTable.code, 16, matrix.codes.device());
  const at::Tensor nibbles =
      at::stack({matrix.codes.__rshift__(4), matrix.codes.bitwise_and(15)}, 1)
          .view({-1})
          .to(at::kInt);
  const at::Tensor values =
      code.index_select(0, nibbles).view({-1, kNf4Block}) * Nf4Scales(matrix).unsqueeze(1);
  out.copy_(values.view(out.sizes()));
}

}  // namespace trainctl::ops
