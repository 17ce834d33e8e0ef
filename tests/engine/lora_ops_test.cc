// Linear layers with LoRA adapters, against torch's autograd in float64; dropout's counted masks;
// nothing is made of frozen weights.
#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include "common/base/philox.h"
#include "tests/engine/held_parameters.h"
#include "worker/rank/ops/layers.h"

namespace trainctl::engine_test {
namespace {

constexpr int64_t kBatch = 2, kLength = 5, kRows = kBatch * kLength, kHidden = 12, kRank = 3;
constexpr double kTolerance = 1e-9, kEps = 1e-5, kScale = 0.75, kDropout = 0.3;

at::Tensor Random(at::IntArrayRef shape) { return at::randn(shape, at::kDouble); }
at::Tensor Leaf(const at::Tensor& tensor) { return tensor.detach().clone().requires_grad_(true); }

void ExpectClose(const at::Tensor& actual, const at::Tensor& expected, const char* what) {
  ASSERT_EQ(actual.sizes(), expected.sizes()) << what;
  EXPECT_LE((actual - expected).abs().max().item<double>(), kTolerance) << what;
}

at::Tensor Norm(const at::Tensor& x, const at::Tensor& weight) {
  return x * at::rsqrt((x * x).mean(-1, true) + kEps) * weight;
}

ops::DropoutRows Samples(int64_t batch, int64_t length) {
  return {.seed = 99, .samples = at::arange(40, 40 + batch, at::kLong), .length = length};
}

// dropout(x) of one module, all rows of the micro batch.
at::Tensor Dropped(const at::Tensor& x, const ops::DropoutRows& rows, uint32_t module) {
  const ops::DropoutMask mask{.rows = rows, .module = module, .probability = kDropout};
  return x * ops::KeepMask(mask, x.size(0), x.size(1)).to(at::kDouble) * mask.scale();
}

at::Tensor Lora(const at::Tensor& dropped, const at::Tensor& a, const at::Tensor& b) {
  return kScale * at::matmul(at::matmul(dropped, a.t()), b.t());
}

class LoraOpsTest : public ::testing::Test {
 protected:
  void SetUp() override { at::manual_seed(7); }
  ops::Context Context(HeldParameters& parameters, int64_t batch = kBatch,
                       int64_t length = kLength) {
    return {tape_, parameters, ops::AtenKernels(), kEps, false, Samples(batch, length)};
  }
  at::Tensor Backward(const ops::Var& in) {
    at::Tensor result;
    tape_.BackwardInto(in, [&](at::Tensor grad) { result = grad; });
    return result;
  }

  const c10::NoGradGuard no_grad_;
  ops::Tape tape_{true};
};

TEST_F(LoraOpsTest, APackedNormLinearWithTwoAdaptedModulesEqualsAutograd) {
  const at::Tensor x = Random({kRows, kHidden}), norm = Random({kHidden}),
                   weight = Random({10, kHidden}), a = Random({2 * kRank, kHidden});
  const at::Tensor first = Random({6, kRank}), second = Random({3, kRank}),
                   out_grad = Random({kRows, 10});
  HeldParameters parameters({norm, weight, a, first, second}, {0, 1});
  ops::Context context = Context(parameters);
  const ops::Var in = tape_.Output(x);
  const ops::Var out = ops::NormLinear(context, in, 0,
                                       {.weights = {1},
                                        .frozen = true,
                                        .adapters = {{2, {{3, 0, 5}, {4, 7, 8}}}},
                                        .scale = kScale,
                                        .dropout = kDropout});
  tape_.PutGrad(out, out_grad);
  const at::Tensor x_grad = Backward(in);

  c10::AutoGradMode autograd(true);
  const at::Tensor lx = Leaf(x), la = Leaf(a), lfirst = Leaf(first), lsecond = Leaf(second);
  const at::Tensor normalized = Norm(lx, norm);
  const at::Tensor plain = at::matmul(normalized, weight.t());
  const at::Tensor one =
      Lora(Dropped(normalized, context.dropout, 5), la.narrow(0, 0, kRank), lfirst);
  const at::Tensor two =
      Lora(Dropped(normalized, context.dropout, 8), la.narrow(0, kRank, kRank), lsecond);
  const at::Tensor expected =
      at::cat({plain.narrow(1, 0, 6) + one, plain.narrow(1, 6, 1), plain.narrow(1, 7, 3) + two}, 1);
  expected.backward(out_grad);
  ExpectClose(out.value, expected, "value");
  ExpectClose(x_grad, lx.grad(), "x");
  ExpectClose(parameters.grad(2), la.grad(), "A");
  ExpectClose(parameters.grad(3), lfirst.grad(), "first B");
  ExpectClose(parameters.grad(4), lsecond.grad(), "second B");
}

TEST_F(LoraOpsTest, SeparateMatricesWithSeparateAdaptersEqualAutograd) {
  const at::Tensor x = Random({kRows, kHidden}), norm = Random({kHidden}),
                   out_grad = Random({kRows, 9});
  const at::Tensor w1 = Random({4, kHidden}), w2 = Random({5, kHidden}),
                   a1 = Random({kRank, kHidden}), a2 = Random({kRank, kHidden});
  const at::Tensor b1 = Random({4, kRank}), b2 = Random({5, kRank});
  HeldParameters parameters({norm, w1, w2, a1, a2, b1, b2}, {0, 1, 2});
  ops::Context context = Context(parameters);
  context.dropout = {};  // evaluation: dropout's probability is of no effect
  const ops::Var in = tape_.Output(x);
  const ops::Var out = ops::NormLinear(context, in, 0,
                                       {.weights = {1, 2},
                                        .frozen = true,
                                        .adapters = {{3, {{5, 0, 0}}}, {4, {{6, 4, 1}}}},
                                        .scale = kScale,
                                        .dropout = kDropout});
  tape_.PutGrad(out, out_grad);
  const at::Tensor x_grad = Backward(in);

  c10::AutoGradMode autograd(true);
  const at::Tensor lx = Leaf(x), la1 = Leaf(a1), la2 = Leaf(a2), lb1 = Leaf(b1), lb2 = Leaf(b2);
  const at::Tensor normalized = Norm(lx, norm);
  const at::Tensor expected = at::cat({at::matmul(normalized, w1.t()) + Lora(normalized, la1, lb1),
                                       at::matmul(normalized, w2.t()) + Lora(normalized, la2, lb2)},
                                      1);
  expected.backward(out_grad);
  ExpectClose(out.value, expected, "value");
  ExpectClose(x_grad, lx.grad(), "x");
  ExpectClose(parameters.grad(3), la1.grad(), "first A");
  ExpectClose(parameters.grad(4), la2.grad(), "second A");
  ExpectClose(parameters.grad(5), lb1.grad(), "first B");
  ExpectClose(parameters.grad(6), lb2.grad(), "second B");
}

TEST_F(LoraOpsTest, ABlockOnAFrozenEmbeddingTrainsItsAdaptersOnly) {
  const at::Tensor table = Random({7, kHidden}), norm = Random({kHidden}),
                   gate_up = Random({8, kHidden}), down = Random({kHidden, 4});
  const at::Tensor a = Random({kRank, kHidden}), b = Random({8, kRank}),
                   down_a = Random({kRank, 4}), down_b = Random({kHidden, kRank});
  const at::Tensor ids = at::randint(0, 7, {kRows}, at::kLong), out_grad = Random({kRows, kHidden});
  HeldParameters parameters({table, norm, gate_up, down, a, b, down_a, down_b}, {0, 1, 2, 3});
  ops::Context context = Context(parameters);
  const auto adapted = [](ops::ParamId weight, ops::ParamId own_a, ops::ParamId own_b,
                          uint32_t module) {
    return ops::LinearParams{.weights = {weight},
                             .frozen = true,
                             .adapters = {{own_a, {{own_b, 0, module}}}},
                             .scale = kScale,
                             .dropout = kDropout};
  };
  const ops::Var x = ops::Embedding(context, 0, ids, /*frozen=*/true);
  const ops::Var hidden = ops::NormLinear(context, x, 1, adapted(2, 4, 5, 0));
  const ops::Var out = ops::SwiGluLinearResidual(context, hidden, adapted(3, 6, 7, 1), x);
  tape_.PutGrad(out, out_grad);
  tape_.Backward();

  c10::AutoGradMode autograd(true);
  const at::Tensor la = Leaf(a), lb = Leaf(b), lda = Leaf(down_a), ldb = Leaf(down_b);
  const at::Tensor rows = table.index({ids}), normalized = Norm(rows, norm);
  const auto halves =
      (at::matmul(normalized, gate_up.t()) + Lora(Dropped(normalized, context.dropout, 0), la, lb))
          .chunk(2, 1);
  const at::Tensor product = at::silu(halves[0]) * halves[1];
  const at::Tensor expected =
      rows + at::matmul(product, down.t()) + Lora(Dropped(product, context.dropout, 1), lda, ldb);
  expected.backward(out_grad);
  ExpectClose(out.value, expected, "value");
  ExpectClose(parameters.grad(4), la.grad(), "A");
  ExpectClose(parameters.grad(5), lb.grad(), "B");
  ExpectClose(parameters.grad(6), lda.grad(), "down A");
  ExpectClose(parameters.grad(7), ldb.grad(), "down B");
}

TEST_F(LoraOpsTest, AnAdaptedHeadInChunksEqualsAutograd) {
  const int64_t batch = 3, length = 700, rows = batch * length,
                vocab = 17;  // more rows than a chunk has
  const at::Tensor x = Random({rows, kHidden}), norm = Random({kHidden}),
                   head = Random({vocab, kHidden});
  const at::Tensor a = Random({kRank, kHidden}), b = Random({vocab, kRank});
  const at::Tensor targets = at::randint(0, vocab, {rows}, at::kLong),
                   sum = at::zeros({}, at::kDouble);
  HeldParameters parameters({norm, head, a, b}, {0, 1});
  ops::Context context = Context(parameters, batch, length);
  const ops::Var in = tape_.Output(x);
  const ops::LinearParams adapted{.weights = {1},
                                  .frozen = true,
                                  .adapters = {{2, {{3, 0, 4}}}},
                                  .scale = kScale,
                                  .dropout = kDropout};
  ops::NormHeadLoss(context, in,
                    {.norm = 0,
                     .head = adapted,
                     .units = {0},
                     .targets = targets,
                     .loss_sum = sum,
                     .grad_scale = 0.25});
  const at::Tensor x_grad = Backward(in);

  c10::AutoGradMode autograd(true);
  const at::Tensor lx = Leaf(x), la = Leaf(a), lb = Leaf(b), normalized = Norm(lx, norm);
  const at::Tensor logits =
      at::matmul(normalized, head.t()) + Lora(Dropped(normalized, context.dropout, 4), la, lb);
  const at::Tensor expected = at::cross_entropy_loss(logits, targets, {}, at::Reduction::Sum, -100);
  (expected * 0.25).backward();
  EXPECT_NEAR(sum.item<double>(), expected.item<double>(), 1e-8);
  ExpectClose(x_grad, lx.grad(), "x");
  ExpectClose(parameters.grad(2), la.grad(), "A");
  ExpectClose(parameters.grad(3), lb.grad(), "B");
}

TEST_F(LoraOpsTest, AFrozenLayerWithoutAdaptersKeepsNoInput) {
  HeldParameters parameters({Random({kHidden, 4})}, {0});
  ops::Context context = Context(parameters);
  at::Tensor x = Random({kRows, 4});
  const c10::weak_intrusive_ptr<c10::TensorImpl> watched(x.getIntrusivePtr());
  const ops::Var residual = tape_.Output(Random({kRows, kHidden}));
  ops::Var in = tape_.Output(std::move(x));
  ops::LinearResidual(context, in, {.weights = {0}, .frozen = true}, residual);
  in.value.reset();
  EXPECT_TRUE(watched.expired());
}

TEST_F(LoraOpsTest, ADropoutMaskIsAFunctionOfSampleModuleAndElement) {
  const int64_t columns = 20;
  const ops::DropoutMask whole{.rows = Samples(3, 6), .module = 2, .probability = kDropout};
  const at::Tensor keep = ops::KeepMask(whole, 18, columns);
  // Another padded length, another micro batch, a chunk of rows: the same elements.
  ops::DropoutMask other = whole;
  other.rows = {.seed = 99, .samples = at::tensor({41}, at::kLong), .length = 9};
  EXPECT_TRUE(at::equal(ops::KeepMask(other, 9, columns).narrow(0, 0, 6), keep.narrow(0, 6, 6)));
  other = whole;
  other.first_row = 4;
  EXPECT_TRUE(at::equal(ops::KeepMask(other, 7, columns), keep.narrow(0, 4, 7)));
  other.module = 3;
  EXPECT_FALSE(at::equal(ops::KeepMask(other, 7, columns), keep.narrow(0, 4, 7)));
  // Bit by bit: position 5 of sample 42.
  for (uint32_t column = 0; column < columns; ++column) {
    const uint32_t element = 5 * columns + column;
    const auto words = base::Philox(99, base::RandomStream::kDropout, element / 8, 42, 2);
    const uint32_t bits = words.word[element % 8 / 2] >> (element % 2 * 16) & 0xFFFF;
    EXPECT_EQ(keep[17][column].item<bool>(), bits >= 19661) << column;  // 0.3 · 65,536
  }
}

TEST_F(LoraOpsTest, DropoutKeepsTheExpectation) {
  const ops::DropoutMask mask{.rows = Samples(1, 100), .module = 0, .probability = 0.05};
  const at::Tensor dropped = ops::AtenKernels().Dropout(at::ones({100, 1000}), mask);
  EXPECT_NEAR(dropped.mean().item<double>(), 1, 4e-3);
  EXPECT_NEAR((dropped == 0).to(at::kDouble).mean().item<double>(), 0.05, 4e-3);
}

}  // namespace
}  // namespace trainctl::engine_test
