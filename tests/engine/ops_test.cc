// Every op's forward and backward against torch's autograd in float64.
#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include "tests/engine/held_parameters.h"
#include "worker/rank/ops/layers.h"
#include "worker/rank/ops/matmul.h"

namespace trainctl::engine_test {
namespace {

constexpr int64_t kBatch = 2, kLength = 5, kRows = kBatch * kLength, kHidden = 12, kVocab = 17;
constexpr double kTolerance = 1e-9;

at::Tensor Random(at::IntArrayRef shape) { return at::randn(shape, at::kDouble); }

// A leaf of autograd with the same values.
at::Tensor Leaf(const at::Tensor& tensor) { return tensor.detach().clone().requires_grad_(true); }

void ExpectClose(const at::Tensor& actual, const at::Tensor& expected, const char* what) {
  ASSERT_EQ(actual.sizes(), expected.sizes()) << what;
  const double error = (actual - expected).abs().max().item<double>();
  EXPECT_LE(error, kTolerance) << what;
}

at::Tensor NormOracle(const at::Tensor& x, const at::Tensor& weight, double eps) {
  return x * at::rsqrt((x * x).mean(-1, true) + eps) * weight;
}

at::Tensor LayerNormOracle(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  return at::layer_norm(x, {x.size(1)}, weight, bias, 1e-5);
}

at::Tensor RotateOracle(const at::Tensor& heads, const at::Tensor& cos, const at::Tensor& sin) {
  const at::Tensor c = at::cat({cos, cos}, -1), s = at::cat({sin, sin}, -1);  // [T, D]
  const auto halves = heads.chunk(2, -1);
  return heads * c + at::cat({-halves[1], halves[0]}, -1) * s;
}

// q, k, v [B, heads, T, D]; k and v may have fewer heads. window: 0: all before a position.
at::Tensor AttentionOracle(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                           int64_t window = 0) {
  const int64_t group = q.size(1) / k.size(1), length = q.size(2);
  const at::Tensor keys = k.repeat_interleave(group, 1), values = v.repeat_interleave(group, 1);
  at::Tensor mask = at::ones({length, length}, at::kBool).triu(1);
  if (window > 0) mask = mask.logical_or(at::ones({length, length}, at::kBool).tril(-window));
  const at::Tensor scores =
      at::matmul(q, keys.transpose(2, 3)) / std::sqrt(static_cast<double>(q.size(3)));
  return at::matmul(at::softmax(scores.masked_fill(mask, -INFINITY), -1), values);
}

class OpsTest : public ::testing::Test {
 protected:
  void SetUp() override { at::manual_seed(7); }
  ops::Context Context(HeldParameters& parameters) {
    return {tape_, parameters, ops::AtenKernels(), 1e-5, false};
  }

  const c10::NoGradGuard no_grad_;
  ops::Tape tape_{true};
};

TEST_F(OpsTest, NormLinearAndItsGradientsEqualAutograd) {
  const at::Tensor x = Random({kRows, kHidden}), norm = Random({kHidden}), a = Random({7, kHidden}),
                   b = Random({3, kHidden});
  const at::Tensor out_grad = Random({kRows, 10});
  HeldParameters parameters({norm, a, b});
  ops::Context context = Context(parameters);
  const ops::Var in = tape_.Output(x);
  const ops::Var out = ops::NormLinear(context, in, 0, {{1, 2}});
  tape_.PutGrad(out, out_grad);
  at::Tensor x_grad;
  tape_.BackwardInto(in, [&](at::Tensor grad) { x_grad = grad; });

  c10::AutoGradMode autograd(true);
  const at::Tensor lx = Leaf(x), ln = Leaf(norm), la = Leaf(a), lb = Leaf(b);
  const at::Tensor expected = at::matmul(NormOracle(lx, ln, 1e-5), at::cat({la, lb}).t());
  expected.backward(out_grad);
  ExpectClose(out.value, expected, "value");
  ExpectClose(x_grad, lx.grad(), "x");
  ExpectClose(parameters.grad(0), ln.grad(), "norm");
  ExpectClose(parameters.grad(1), la.grad(), "first weight");
  ExpectClose(parameters.grad(2), lb.grad(), "second weight");
}

TEST_F(OpsTest, LayerNormAndTheBiasBehindItEqualAutograd) {
  const at::Tensor x = Random({kRows, kHidden}) + 3, norm = Random({kHidden}),
                   norm_bias = Random({kHidden}), weight = Random({7, kHidden}), bias = Random({7});
  const at::Tensor out_grad = Random({kRows, 7}), residual_grad = Random({kRows, kHidden});
  HeldParameters parameters({norm, norm_bias, weight, bias});
  ops::Context context = Context(parameters);
  const ops::Var in = tape_.Output(x);
  const ops::Var out = ops::NormLinear(context, in, {0, 1}, {.weights = {2}, .biases = {3}});
  tape_.PutGrad(out, out_grad);
  tape_.PutGrad(in, residual_grad);
  at::Tensor x_grad;
  tape_.BackwardInto(in, [&](at::Tensor grad) { x_grad = grad; });

  c10::AutoGradMode autograd(true);
  const at::Tensor lx = Leaf(x), ln = Leaf(norm), lnb = Leaf(norm_bias), lw = Leaf(weight),
                   lb = Leaf(bias);
  const at::Tensor expected = at::matmul(LayerNormOracle(lx, ln, lnb), lw.t()) + lb;
  expected.backward(out_grad);
  ExpectClose(out.value, expected, "value");
  ExpectClose(x_grad, lx.grad() + residual_grad, "x");
  ExpectClose(parameters.grad(0), ln.grad(), "norm");
  ExpectClose(parameters.grad(1), lnb.grad(), "the norm's bias");
  ExpectClose(parameters.grad(2), lw.grad(), "weight");
  ExpectClose(parameters.grad(3), lb.grad(), "bias");
}

TEST_F(OpsTest, NormLinearAddsToAGradientThatIsThereAlready) {
  const at::Tensor x = Random({kRows, kHidden}), out_grad = Random({kRows, 4}),
                   residual_grad = Random({kRows, kHidden});
  HeldParameters parameters({Random({kHidden}), Random({4, kHidden})});
  const auto run = [&](bool with_residual) {
    ops::Tape tape(true);
    ops::Context context{tape, parameters, ops::AtenKernels(), 1e-5, false};
    const ops::Var in = tape.Output(x);
    const ops::Var out = ops::NormLinear(context, in, 0, {{1}});
    tape.PutGrad(out, out_grad);
    if (with_residual) tape.PutGrad(in, residual_grad);
    at::Tensor result;
    tape.BackwardInto(in, [&](at::Tensor grad) { result = grad; });
    return result;
  };
  ExpectClose(run(true), run(false) + residual_grad, "sum");
}

class AttentionTest : public OpsTest,
                      public ::testing::WithParamInterface<std::pair<int64_t, int64_t>> {};

TEST_P(AttentionTest, RotatedCausalAttentionEqualsAutograd) {
  const auto [heads, kv_heads] = GetParam();
  const ops::HeadShape shape{kBatch, kLength, heads, kv_heads, 6};
  const at::Tensor qkv = Random({kRows, shape.packed()}), out_grad = Random({kRows, heads * 6});
  const at::Tensor angles =
      at::outer(at::arange(kLength, at::kDouble), at::tensor({1.0, 0.3, 0.1}, at::kDouble));
  const at::Tensor cos = angles.cos(), sin = angles.sin();
  HeldParameters parameters({});
  ops::Context context = Context(parameters);
  const ops::Var in = tape_.Output(qkv.clone());
  const ops::Var out = ops::SelfAttention(context, in, cos, sin, shape);
  tape_.PutGrad(out, out_grad);
  at::Tensor grad;
  tape_.BackwardInto(in, [&](at::Tensor g) { grad = g; });

  c10::AutoGradMode autograd(true);
  const at::Tensor leaf = Leaf(qkv);
  const at::Tensor all = leaf.view({kBatch, kLength, heads + 2 * kv_heads, 6}).transpose(1, 2);
  const at::Tensor q = RotateOracle(all.narrow(1, 0, heads), cos, sin),
                   k = RotateOracle(all.narrow(1, heads, kv_heads), cos, sin);
  const at::Tensor expected = AttentionOracle(q, k, all.narrow(1, heads + kv_heads, kv_heads))
                                  .transpose(1, 2)
                                  .reshape({kRows, heads * 6});
  expected.backward(out_grad);
  ExpectClose(out.value, expected, "value");
  ExpectClose(grad, leaf.grad(), "qkv");
}

TEST_P(AttentionTest, CausalAttentionWithoutRotationEqualsAutograd) {
  const auto [heads, kv_heads] = GetParam();
  const ops::HeadShape shape{kBatch, kLength, heads, kv_heads, 6};
  const at::Tensor qkv = Random({kRows, shape.packed()}), out_grad = Random({kRows, heads * 6});
  HeldParameters parameters({});
  ops::Context context = Context(parameters);
  const ops::Var in = tape_.Output(qkv.clone());
  const ops::Var out = ops::SelfAttention(context, in, {}, {}, shape);
  tape_.PutGrad(out, out_grad);
  at::Tensor grad;
  tape_.BackwardInto(in, [&](at::Tensor g) { grad = g; });

  c10::AutoGradMode autograd(true);
  const at::Tensor leaf = Leaf(qkv);
  const at::Tensor all = leaf.view({kBatch, kLength, heads + 2 * kv_heads, 6}).transpose(1, 2);
  const at::Tensor expected =
      AttentionOracle(all.narrow(1, 0, heads), all.narrow(1, heads, kv_heads),
                      all.narrow(1, heads + kv_heads, kv_heads))
          .transpose(1, 2)
          .reshape({kRows, heads * 6});
  expected.backward(out_grad);
  ExpectClose(out.value, expected, "value");
  ExpectClose(grad, leaf.grad(), "qkv");
}

TEST_P(AttentionTest, AttentionInAWindowEqualsAutograd) {
  const auto [heads, kv_heads] = GetParam();
  const int64_t packed = (heads + 2 * kv_heads) * 6;
  const at::Tensor qkv = Random({kRows, packed}), out_grad = Random({kRows, heads * 6});
  const at::Tensor leaf = Leaf(qkv);
  for (int64_t window = 1; window <= kLength + 1; ++window) {
    SCOPED_TRACE(window);
    ops::HeadShape shape{kBatch, kLength, heads, kv_heads, 6};
    shape.window = window;
    const auto [value, saved] = ops::Attention(qkv, shape, false);
    const ops::AttentionGrads grads = ops::AttentionBackward(out_grad, qkv, saved, shape);

    c10::AutoGradMode autograd(true);
    const at::Tensor all = leaf.view({kBatch, kLength, heads + 2 * kv_heads, 6}).transpose(1, 2);
    const at::Tensor expected =
        AttentionOracle(all.narrow(1, 0, heads), all.narrow(1, heads, kv_heads),
                        all.narrow(1, heads + kv_heads, kv_heads), window)
            .transpose(1, 2)
            .reshape({kRows, heads * 6});
    leaf.mutable_grad() = at::Tensor();
    expected.backward(out_grad);
    ExpectClose(value, expected, "value");
    ExpectClose(at::cat({grads.q, grads.k, grads.v}, 1).transpose(1, 2).reshape({kRows, packed}),
                leaf.grad(), "qkv");
  }
}

INSTANTIATE_TEST_SUITE_P(Heads, AttentionTest,
                         ::testing::Values(std::pair{3, 3}, std::pair{4, 2}, std::pair{4, 1}));

TEST_F(OpsTest, LinearResidualEqualsAutograd) {
  const at::Tensor x = Random({kRows, 4}), weight = Random({kHidden, 4}),
                   residual = Random({kRows, kHidden});
  const at::Tensor out_grad = Random({kRows, kHidden});
  HeldParameters parameters({weight});
  ops::Context context = Context(parameters);
  const ops::Var in = tape_.Output(x), held = tape_.Output(residual);
  const ops::Var out = ops::LinearResidual(context, in, {{0}}, held);
  tape_.PutGrad(out, out_grad);
  at::Tensor x_grad, residual_grad;
  tape_.BackwardInto(in, [&](at::Tensor grad) {
    x_grad = grad;
    residual_grad = tape_.TakeGrad(held);
  });
  ExpectClose(out.value, residual + at::matmul(x, weight.t()), "value");
  ExpectClose(x_grad, at::matmul(out_grad, weight), "x");
  ExpectClose(residual_grad, out_grad, "residual");
  ExpectClose(parameters.grad(0), at::matmul(out_grad.t(), x), "weight");
}

TEST_F(OpsTest, SwiGluLinearResidualEqualsAutograd) {
  const at::Tensor gate_up = Random({kRows, 8}), weight = Random({kHidden, 4}),
                   residual = Random({kRows, kHidden});
  const at::Tensor out_grad = Random({kRows, kHidden});
  HeldParameters parameters({weight});
  ops::Context context = Context(parameters);
  const ops::Var in = tape_.Output(gate_up);
  const ops::Var out = ops::SwiGluLinearResidual(context, in, {{0}}, {residual, -1});
  tape_.PutGrad(out, out_grad);
  at::Tensor grad;
  tape_.BackwardInto(in, [&](at::Tensor g) { grad = g; });

  c10::AutoGradMode autograd(true);
  const at::Tensor leaf = Leaf(gate_up), leaf_weight = Leaf(weight);
  const auto halves = leaf.chunk(2, 1);
  const at::Tensor expected =
      residual + at::matmul(at::silu(halves[0]) * halves[1], leaf_weight.t());
  expected.backward(out_grad);
  ExpectClose(out.value, expected, "value");
  ExpectClose(grad, leaf.grad(), "gate_up");
  ExpectClose(parameters.grad(0), leaf_weight.grad(), "weight");
}

// What the op of the test below drops, and what it leaves of the rest.
at::Tensor DropOracle(const at::Tensor& x, const ops::DropoutMask& mask) {
  return x * ops::KeepMask(mask, x.size(0), x.size(1)) * mask.scale();
}

class ResidualDropoutTest : public OpsTest, public ::testing::WithParamInterface<double> {
 protected:
  ops::Context DroppingContext(HeldParameters& parameters) {
    ops::Context context = Context(parameters);
    context.dropout = mask_.rows;
    return context;
  }

  const ops::DropoutMask mask_{
      .rows = {.seed = 5, .samples = at::arange(7, 7 + kBatch, at::kLong), .length = kLength},
      .module = 3,
      .probability = GetParam()};
  const ops::OutputDropout dropout_{GetParam(), 3};
};

TEST_P(ResidualDropoutTest, ReluLinearResidualEqualsAutograd) {
  const at::Tensor x = Random({kRows, 4}), weight = Random({kHidden, 4}), bias = Random({kHidden}),
                   residual = Random({kRows, kHidden}), out_grad = Random({kRows, kHidden});
  HeldParameters parameters({weight, bias});
  ops::Context context = DroppingContext(parameters);
  const ops::Var in = tape_.Output(at::relu(x)), held = tape_.Output(residual);
  const ops::Var out =
      ops::ReluLinearResidual(context, in, {.weights = {0}, .biases = {1}}, held, dropout_);
  tape_.PutGrad(out, out_grad);
  at::Tensor x_grad, residual_grad;
  tape_.BackwardInto(in, [&](at::Tensor grad) {
    x_grad = grad;
    residual_grad = tape_.TakeGrad(held);
  });

  c10::AutoGradMode autograd(true);
  const at::Tensor lx = Leaf(x), lw = Leaf(weight), lb = Leaf(bias);
  const at::Tensor expected = residual + DropOracle(at::matmul(at::relu(lx), lw.t()) + lb, mask_);
  expected.backward(out_grad);
  ExpectClose(out.value, expected, "value");
  ExpectClose(x_grad, lx.grad(), "x");
  ExpectClose(residual_grad, out_grad, "residual");
  ExpectClose(parameters.grad(0), lw.grad(), "weight");
  ExpectClose(parameters.grad(1), lb.grad(), "bias");
}

TEST_P(ResidualDropoutTest, LinearResidualEqualsAutograd) {
  const at::Tensor x = Random({kRows, 4}), weight = Random({kHidden, 4}),
                   residual = Random({kRows, kHidden}), out_grad = Random({kRows, kHidden});
  HeldParameters parameters({weight});
  ops::Context context = DroppingContext(parameters);
  const ops::Var in = tape_.Output(x);
  const ops::Var out = ops::LinearResidual(context, in, {{0}}, {residual, -1}, dropout_);
  tape_.PutGrad(out, out_grad);
  at::Tensor x_grad;
  tape_.BackwardInto(in, [&](at::Tensor grad) { x_grad = grad; });

  c10::AutoGradMode autograd(true);
  const at::Tensor lx = Leaf(x), lw = Leaf(weight);
  const at::Tensor expected = residual + DropOracle(at::matmul(lx, lw.t()), mask_);
  expected.backward(out_grad);
  ExpectClose(out.value, expected, "value");
  ExpectClose(x_grad, lx.grad(), "x");
  ExpectClose(parameters.grad(0), lw.grad(), "weight");
}

TEST_P(ResidualDropoutTest, NothingIsDroppedInAnEvaluation) {
  const at::Tensor x = Random({kRows, 4}), weight = Random({kHidden, 4}),
                   residual = Random({kRows, kHidden});
  HeldParameters parameters({weight});
  ops::Tape silent(false);
  ops::Context context{silent, parameters, ops::AtenKernels(), 1e-5, false};
  const ops::Var out =
      ops::ReluLinearResidual(context, {at::relu(x), -1}, {{0}}, {residual, -1}, dropout_);
  ExpectClose(out.value, residual + at::matmul(at::relu(x), weight.t()), "value");
}

INSTANTIATE_TEST_SUITE_P(Probabilities, ResidualDropoutTest, ::testing::Values(0.0, 0.4));

struct LossResult {
  double sum = 0;
  at::Tensor x_grad;
};

TEST_F(OpsTest, NormHeadLossIgnoresMaskedTargetsAndEqualsAutograd) {
  // More rows than a chunk of the head has.
  const int64_t rows = 2100;
  const at::Tensor x = Random({rows, kHidden}), norm = Random({kHidden}),
                   head = Random({kVocab, kHidden});
  at::Tensor targets = at::randint(0, kVocab, {rows}, at::kLong);
  targets.narrow(0, 3, 1000).fill_(-100);
  HeldParameters parameters({norm, head});
  ops::Context context = Context(parameters);
  const ops::Var in = tape_.Output(x);
  const at::Tensor sum = at::zeros({}, at::kDouble);
  const double scale = 0.25;
  ops::NormHeadLoss(context, in,
                    {.norm = 0,
                     .head = {{1}},
                     .units = {0},
                     .targets = targets,
                     .loss_sum = sum,
                     .grad_scale = scale});
  at::Tensor x_grad;
  tape_.BackwardInto(in, [&](at::Tensor grad) { x_grad = grad; });
  EXPECT_TRUE(parameters.AllUnitsClosed());

  c10::AutoGradMode autograd(true);
  const at::Tensor lx = Leaf(x), ln = Leaf(norm), lh = Leaf(head);
  const at::Tensor logits = at::matmul(NormOracle(lx, ln, 1e-5), lh.t());
  const at::Tensor expected = at::cross_entropy_loss(logits, targets, {}, at::Reduction::Sum, -100);
  (expected * scale).backward();
  EXPECT_NEAR(sum.item<double>(), expected.item<double>(), 1e-9);
  ExpectClose(x_grad, lx.grad(), "x");
  ExpectClose(parameters.grad(0), ln.grad(), "norm");
  ExpectClose(parameters.grad(1), lh.grad(), "head");
}

TEST_F(OpsTest, WithoutRecordingTheHeadOnlyAddsTheLoss) {
  const at::Tensor x = Random({kRows, kHidden}), norm = Random({kHidden}),
                   head = Random({kVocab, kHidden});
  const at::Tensor targets = at::randint(0, kVocab, {kRows}, at::kLong);
  HeldParameters parameters({norm, head});
  ops::Tape silent(false);
  ops::Context context{silent, parameters, ops::AtenKernels(), 1e-5, false};
  const at::Tensor sum = at::zeros({}, at::kDouble);
  ops::NormHeadLoss(context, {x, -1},
                    {.norm = 0, .head = {{1}}, .units = {0}, .targets = targets, .loss_sum = sum});
  const at::Tensor logits = at::matmul(NormOracle(x, norm, 1e-5), head.t());
  EXPECT_NEAR(sum.item<double>(),
              at::cross_entropy_loss(logits, targets, {}, at::Reduction::Sum).item<double>(), 1e-9);
  EXPECT_TRUE(at::isnan(parameters.grad(1)).all().item<bool>()) << "a gradient was written";
}

TEST_F(OpsTest, EmbeddingGradientIsTheSumOverEqualIds) {
  const at::Tensor table = Random({kVocab, kHidden}), out_grad = Random({4, kHidden});
  const at::Tensor ids = at::tensor({3, 5, 3, 0}, at::kLong);
  HeldParameters parameters({table});
  ops::Context context = Context(parameters);
  const ops::Var out = ops::Embedding(context, 0, ids);
  tape_.PutGrad(out, out_grad);
  tape_.Backward();
  ExpectClose(out.value, table.index({ids}), "value");
  at::Tensor expected = at::zeros_like(table);
  for (int64_t i = 0; i < 4; ++i) expected[ids[i].item<int64_t>()] += out_grad[i];
  ExpectClose(parameters.grad(0), expected, "table");
}

TEST_F(OpsTest, LearnedPositionsAreAddedAndTheirGradientIsTheSumOverSamples) {
  const at::Tensor table = Random({kVocab, kHidden}), positions = Random({9, kHidden}),
                   out_grad = Random({kRows, kHidden});
  const at::Tensor ids = at::randint(0, kVocab, {kRows}, at::kLong),
                   rows = at::tensor({2, 3, 4, 4, 4}, at::kLong);
  HeldParameters parameters({table, positions});
  ops::Context context = Context(parameters);
  const ops::Var out = ops::PositionedEmbedding(context, 0, ids, {1, rows});
  tape_.PutGrad(out, out_grad);
  tape_.Backward();

  c10::AutoGradMode autograd(true);
  const at::Tensor lt = Leaf(table), lp = Leaf(positions);
  const at::Tensor expected = lt.index({ids}) + lp.index({rows.repeat({kBatch})});
  expected.backward(out_grad);
  ExpectClose(out.value, expected, "value");
  ExpectClose(parameters.grad(0), lt.grad(), "tokens");
  ExpectClose(parameters.grad(1), lp.grad(), "positions");
}

TEST_F(OpsTest, AFrozenTableOfPositionsIsOnlyAdded) {
  const at::Tensor table = Random({kVocab, kHidden}), positions = Random({9, kHidden});
  const at::Tensor ids = at::randint(0, kVocab, {kRows}, at::kLong),
                   rows = at::arange(2, 2 + kLength, at::kLong);
  HeldParameters parameters({table, positions}, {0, 1});
  ops::Context context = Context(parameters);
  const ops::Var out = ops::PositionedEmbedding(context, 0, ids, {1, rows}, /*frozen=*/true);
  EXPECT_LT(out.slot, 0);
  ExpectClose(out.value, table.index({ids}) + positions.index({rows.repeat({kBatch})}), "value");
}

TEST_F(OpsTest, ARecomputedUnitHasTheSameGradients) {
  const at::Tensor x = Random({kRows, kHidden}), out_grad = Random({kRows, kHidden});
  const std::vector<at::Tensor> weights = {Random({kHidden}), Random({8, kHidden}),
                                           Random({kHidden, 4})};
  const auto run = [&](bool recompute) {
    HeldParameters parameters(weights);
    ops::Tape tape(true);
    ops::Context context{tape, parameters, ops::AtenKernels(), 1e-5, false};
    const ops::Var in = tape.Output(x);
    const ops::Var out =
        ops::InUnit(context, 0, in, recompute, [](ops::Context& c, const ops::Var& v) {
          return ops::SwiGluLinearResidual(c, ops::NormLinear(c, v, 0, {{1}}), {{2}}, v);
        });
    tape.PutGrad(out, out_grad);
    std::vector<at::Tensor> grads;
    tape.BackwardInto(in, [&](at::Tensor grad) { grads.push_back(grad); });
    for (int i = 0; i < 3; ++i) grads.push_back(parameters.grad(i));
    EXPECT_TRUE(parameters.AllUnitsClosed());
    return grads;
  };
  const auto plain = run(false), again = run(true);
  for (size_t i = 0; i < plain.size(); ++i) EXPECT_TRUE(at::equal(plain[i], again[i])) << i;
}

TEST_F(OpsTest, ATapeFreesWhatARecordSavedAsSoonAsItRan) {
  at::Tensor saved = Random({4});
  const c10::weak_intrusive_ptr<c10::TensorImpl> watched(saved.getIntrusivePtr());
  bool alive_in_first = true;
  tape_.Record([&] { alive_in_first = !watched.expired(); });
  tape_.Record([held = std::move(saved)] {});
  saved = at::Tensor();
  EXPECT_FALSE(watched.expired());
  tape_.Backward();
  EXPECT_FALSE(alive_in_first);
}

TEST_F(OpsTest, Bf16ProductsOnACpuAreComputedInFp32) {
  const at::Tensor x = at::randn({64, 512}).to(at::kBFloat16),
                   weight = at::randn({32, 512}).to(at::kBFloat16);
  const at::Tensor exact =
      at::matmul(x.to(at::kFloat), weight.to(at::kFloat).t()).to(at::kBFloat16);
  EXPECT_TRUE(at::equal(ops::Linear(x, weight), exact));
}

}  // namespace
}  // namespace trainctl::engine_test
