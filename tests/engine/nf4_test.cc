// 4-bit weights, bit for bit as bitsandbytes stores and reads them
// (tests/baselines/generate_nf4.py), and the store that holds them.
#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include "tests/checkout.h"
#include "worker/rank/files/safetensors.h"
#include "worker/rank/ops/dynamic_map.h"
#include "worker/rank/ops/nf4.h"
#include "worker/rank/strategy/nf4_weights.h"

namespace trainctl::engine_test {
namespace {

class Nf4Test : public ::testing::TestWithParam<const char*> {
 protected:
  Nf4Test()
      : file_(files::SafetensorsFile::Open(checkout::File("tests/baselines/nf4.safetensors"))
                  .value()) {}

  at::Tensor Get(const std::string& name) const {
    const files::TensorInfo* info = file_.Find(name);
    if (info == nullptr) ADD_FAILURE() << name;
    const at::ScalarType type = info->dtype == files::DType::kU8     ? at::kByte
                                : info->dtype == files::DType::kBF16 ? at::kBFloat16
                                                                     : at::kFloat;
    return at::from_blob(const_cast<std::byte*>(file_.Bytes(*info).data()), info->shape, type)
        .clone();
  }
  at::Tensor OfCase(const std::string& name) const {
    return Get(std::string(GetParam()) + "." + name);
  }

  static at::Tensor Dequantized(const ops::Nf4Matrix& matrix, at::ScalarType type) {
    const at::Tensor out = at::empty(matrix.shape, type);
    ops::Nf4DequantizeInto(out, matrix);
    return out;
  }

  const c10::NoGradGuard no_grad_;
  files::SafetensorsFile file_;
};

TEST_P(Nf4Test, CodesScalesAndDequantizedWeightsAreBitsandbytes) {
  const ops::Nf4Matrix matrix = ops::Nf4Quantize(OfCase("values"), false);
  EXPECT_TRUE(at::equal(matrix.codes, OfCase("codes")));
  EXPECT_TRUE(at::equal(matrix.scales, OfCase("scales")));
  EXPECT_TRUE(at::equal(Dequantized(matrix, at::kFloat), OfCase("dequantized")));
  EXPECT_TRUE(at::equal(Dequantized(matrix, at::kBFloat16), OfCase("dequantized_bf16")));
}

TEST_P(Nf4Test, DoubleQuantizationIsBitsandbytes) {
  const ops::Nf4Matrix matrix = ops::Nf4Quantize(OfCase("values"), true);
  EXPECT_TRUE(at::equal(matrix.codes, OfCase("codes")));
  EXPECT_TRUE(at::equal(matrix.scale_codes, OfCase("dq.scale_codes")));
  EXPECT_TRUE(at::equal(matrix.scale_scales, OfCase("dq.scale_scales")));
  EXPECT_EQ(matrix.offset.item<float>(), OfCase("dq.offset").item<float>());
  EXPECT_TRUE(at::equal(Dequantized(matrix, at::kFloat), OfCase("dq.dequantized")));
}

TEST_P(Nf4Test, TheDynamicMapIsBitsandbytes) {
  EXPECT_TRUE(at::equal(ops::DynamicMap(true), Get("map")));
}

INSTANTIATE_TEST_SUITE_P(Cases, Nf4Test, ::testing::Values("normal", "heavy", "bf16"));

ops::ParameterTable PackedTable() {
  ops::ParameterTable table;
  table.units.push_back({.name = "block.0", .params = {0, 1}});
  table.params.push_back({.shape = {12, 64},
                          .pieces = {{"q", 0, 8}, {"k", 8, 4}},
                          .trainable = false,
                          .quantized = true});
  table.params.push_back({.shape = {64}, .pieces = {{"norm", 0, 64}}, .trainable = false});
  return table;
}

TEST(Nf4Weights, EachTensorOfAPackedMatrixIsQuantizedForItself) {
  at::manual_seed(3);
  const at::Tensor q = at::randn({8, 64}), k = 5 * at::randn({4, 64});
  const ops::ParameterTable table = PackedTable();
  strategy::Nf4Weights store(
      table, {.compute = at::TensorOptions().dtype(at::kBFloat16), .double_quantization = true});
  store.SetRows(0, 0, q);
  store.SetRows(0, 8, k);
  EXPECT_TRUE(store.Holds(0));
  EXPECT_FALSE(store.Holds(1));
  const auto alone = [](const at::Tensor& values) {
    const at::Tensor out = at::empty(values.sizes(), at::kBFloat16);
    ops::Nf4DequantizeInto(out, ops::Nf4Quantize(values, true));
    return out;
  };
  store.BeginUnit(0, ops::Pass::kForward);
  EXPECT_TRUE(at::equal(store.Weight(0), at::cat({alone(q), alone(k)})));
  EXPECT_TRUE(at::equal(store.GetRows(0), store.Weight(0)));
}

TEST(Nf4Weights, AWholeMatrixIsHeldOnlyWhileItsUnitIsInUse) {
  const ops::ParameterTable table = PackedTable();
  strategy::Nf4Weights store(table, {.compute = at::TensorOptions().dtype(at::kBFloat16)});
  store.SetRows(0, 0, at::ones({8, 64}));
  store.SetRows(0, 8, at::ones({4, 64}));
  const int64_t resting = 12 * 64 / 2 + 12 * 4;  // codes, and an fp32 scale for each 64
  EXPECT_EQ(store.HeldBytes(), resting);
  store.BeginUnit(0, ops::Pass::kForward);
  store.Weight(0);
  EXPECT_EQ(store.HeldBytes(), resting + 12 * 64 * 2);
  store.EndUnit(0, ops::Pass::kForward);
  EXPECT_EQ(store.HeldBytes(), resting);
}

}  // namespace
}  // namespace trainctl::engine_test
