// Packed rows beside the same rows one by one: loss and every gradient, of rotary and of learned
// positions.
#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/engine/held_parameters.h"
#include "worker/rank/model/model.h"
#include "worker/rank/train/micro_batches.h"

namespace trainctl::engine_test {
namespace {

constexpr int64_t kLength = 96, kVocab = 61;

struct Case {
  const char* name;
  job::ModelShape shape;
  model::ModelOptions options = {};
  at::ScalarType type = at::kFloat;
  double tolerance = 2e-5;
};

job::ModelShape Shape(const std::string& family) {
  job::ModelShape shape{.family = family,
                        .layers = 3,
                        .hidden = 32,
                        .intermediate = 48,
                        .heads = 4,
                        .kv_heads = 4,
                        .head_dim = 8,
                        .vocab = kVocab,
                        .max_positions = 128};
  return shape;
}

job::ModelShape Grouped() {
  job::ModelShape shape = Shape("qwen3");
  shape.kv_heads = 2;
  shape.head_dim = 10;
  shape.head_norms = shape.tied_head = true;
  return shape;
}

// Of three layers the second has none.
job::ModelShape InWindows() {
  job::ModelShape shape = Grouped();
  shape.sliding_window = 6;
  shape.full_layers = {1};
  return shape;
}

job::ModelShape Opt() {
  job::ModelShape shape = Shape("opt");
  shape.qkv_bias = shape.out_bias = shape.mlp_bias = shape.tied_head = true;
  return shape;
}

// Rows of more than 16 tokens have frequencies of their own.
job::ModelShape Dynamic() {
  job::ModelShape shape = Shape("llama");
  shape.max_positions = 16;
  shape.rope_scaling = job::RopeScaling{.type = job::RopeType::kDynamic, .factor = 2};
  return shape;
}

std::vector<Case> Cases() {
  const job::LoraSpec lora{.r = 4, .alpha = 8, .dropout = 0, .targets = {}};
  return {{"llama", Shape("llama")},
          {"grouped", Grouped()},
          {"windows", InWindows()},
          {"windows_checkpointed", InWindows(), {.checkpoint_every = 1}},
          {"windows_lora", InWindows(), {.lora = lora}},
          {"dynamic", Dynamic()},
          {"opt", Opt()},
          {"checkpointed", Shape("llama"), {.checkpoint_every = 2}},
          {"checkpointed_opt", Opt(), {.checkpoint_every = 1}},
          {"lora", Shape("llama"), {.lora = lora}},
          {"lora_opt", Opt(), {.lora = lora}},
          {"bf16", Shape("llama"), {}, at::kBFloat16, 3e-2}};
}

// Rows of 1 to 40 tokens, of which the first few train nothing.
data::Dataset Rows() {
  std::mt19937 random(3);
  data::Dataset dataset;
  std::vector<int32_t> tokens;
  for (int64_t row = 0; row < 24; ++row) {
    const int64_t length = 1 + static_cast<int64_t>(random() % 40);
    dataset.rows.push_back({std::ssize(tokens), length, row % 3 == 0 ? length / 2 : 0});
    dataset.train.push_back(row);
    for (int64_t t = 0; t < length; ++t) tokens.push_back(static_cast<int32_t>(random() % kVocab));
  }
  dataset.val = {2, 3, 5, 7, 11};
  dataset.tokens = data::TokenStore(std::move(tokens));
  dataset.max_seq_length = kLength;
  return dataset;
}

class PackedRowsTest : public testing::TestWithParam<Case> {
 protected:
  struct Result {
    double loss = 0;
    std::vector<at::Tensor> grads;
  };

  PackedRowsTest() : dataset_(Rows()) {
    model::ModelOptions options = GetParam().options;
    options.max_length = 128;
    model_ = std::move(model::MakeModel(GetParam().shape, options).value());
    at::manual_seed(7);
    for (const ops::ParamSpec& spec : model_->parameters().params) {
      const at::Tensor weight = spec.init == ops::Init::kOnes
                                    ? at::randn(spec.shape).mul_(0.1).add_(1)
                                    : at::randn(spec.shape).mul_(0.3);
      if (!spec.trainable) frozen_.insert(static_cast<ops::ParamId>(weights_.size()));
      weights_.push_back(weight.to(GetParam().type));
    }
  }

  // Of all these micro batches together, each of whose targets weighs as much.
  Result Compute(std::vector<model::MicroBatch> batches, int64_t trained_tokens,
                 bool recording = true) {
    std::vector<at::Tensor> copies;
    for (const at::Tensor& weight : weights_) copies.push_back(weight.clone());
    HeldParameters parameters(copies, frozen_);
    const at::Tensor sum = at::zeros({}, at::kDouble);
    for (model::MicroBatch& batch : batches) {
      batch.loss_sum = sum;
      batch.grad_scale = 1.0 / static_cast<double>(trained_tokens);
      ops::Tape tape(recording);
      ops::Context context{tape, parameters, ops::AtenKernels(), model_->norm_eps()};
      model_->Loss(context, batch);
      tape.Backward();
    }
    Result result{sum.item<double>() / static_cast<double>(trained_tokens), {}};
    for (ops::ParamId param = 0; recording && param < std::ssize(weights_); ++param) {
      if (!frozen_.contains(param)) result.grads.push_back(parameters.grad(param).to(at::kDouble));
    }
    return result;
  }

  void ExpectEqual(const Result& packed, const Result& alone) const {
    const double tolerance = GetParam().tolerance;
    EXPECT_NEAR(packed.loss, alone.loss, tolerance * alone.loss);
    double largest = 0;
    for (const at::Tensor& grad : alone.grads)
      largest = std::max(largest, grad.norm().item<double>());
    ASSERT_GT(largest, 0);
    for (size_t i = 0; i < alone.grads.size(); ++i) {
      // A gradient that is nothing but rounding, as that of keys' bias, is measured by the largest.
      const double norm = alone.grads[i].norm().item<double>();
      const double size = norm < 1e-5 * largest ? largest : norm;
      EXPECT_LT((packed.grads[i] - alone.grads[i]).norm().item<double>(), tolerance * size)
          << model_->parameters().params[i].pieces[0].name;
    }
  }

  train::MicroBatches Batches(bool packing, int64_t global) const {
    return {dataset_,
            {.micro = global, .devices = 1, .accumulation = 1, .global = global},
            {.seed = 5, .packing = packing},
            0,
            at::kCPU};
  }

  const c10::NoGradGuard no_grad_;
  data::Dataset dataset_;
  std::unique_ptr<model::Model> model_;
  std::vector<at::Tensor> weights_;
  std::set<ops::ParamId> frozen_;
};

TEST_P(PackedRowsTest, LossAndGradientsAreThoseOfTheRowsOneByOne) {
  const int64_t sequences = data::PackTraining(dataset_, 5).size();
  ASSERT_GT(sequences, 2);
  ASSERT_LT(sequences, 12);
  train::MicroBatches packed = Batches(true, sequences);
  ASSERT_EQ(packed.steps_per_epoch(), 1);
  train::MicroBatches alone = Batches(false, 1);
  std::vector<model::MicroBatch> rows;
  for (int64_t step = 0; step < std::ssize(dataset_.train); ++step)
    rows.push_back(alone.Training(step, 0));
  const int64_t tokens = data::TrainedTokens(dataset_, dataset_.train);
  EXPECT_EQ(packed.Counts(0).trained_tokens, tokens);
  EXPECT_EQ(packed.Counts(0).rows, std::ssize(dataset_.train));
  ExpectEqual(Compute({packed.Training(0, 0)}, tokens), Compute(rows, tokens));
}

TEST_P(PackedRowsTest, ValidationLossIsThatOfTheRowsOneByOne) {
  train::MicroBatches packed = Batches(true, 2), alone = Batches(false, 1);
  for (const int64_t rows : {3, 5, 100}) {
    const auto loss = [&](train::MicroBatches& batches) {
      std::vector<model::MicroBatch> all;
      for (int64_t i = 0; i < batches.ValidationBatches(rows); ++i)
        all.push_back(batches.Validation(i, rows));
      return Compute(all, batches.ValidationTokens(rows), /*recording=*/false).loss;
    };
    EXPECT_LT(packed.ValidationBatches(rows), alone.ValidationBatches(rows));
    EXPECT_EQ(packed.ValidationTokens(rows), alone.ValidationTokens(rows));
    const double expected = loss(alone);
    EXPECT_NEAR(loss(packed), expected, GetParam().tolerance * expected) << rows;
  }
}

TEST_P(PackedRowsTest, ARowDoesNotSeeItsNeighbours) {
  const std::vector<int64_t> both = {4, 9}, other = {6, 9};
  const auto hidden = [&](const std::vector<int64_t>& sequence) {
    const data::Batch host = data::MakePackedBatch(dataset_, std::vector<data::Sequence>{sequence});
    model::MicroBatch batch{.rows = 1,
                            .length = host.length,
                            .inputs = at::tensor(host.inputs, at::kLong),
                            .targets = at::tensor(host.targets, at::kLong),
                            .segments = ops::MakeSegments(host.segments, at::kCPU)};
    std::vector<at::Tensor> copies = weights_;
    HeldParameters parameters(copies, frozen_);
    ops::Tape tape(false);
    ops::Context context{tape, parameters, ops::AtenKernels(), model_->norm_eps()};
    const int64_t begin = host.segments[1], length = host.segments[2] - begin;
    return model_->Hidden(context, batch).value.narrow(0, begin, length).clone();
  };
  EXPECT_TRUE(at::allclose(hidden(both), hidden(other), 1e-5, 1e-6));
}

INSTANTIATE_TEST_SUITE_P(Families, PackedRowsTest, testing::ValuesIn(Cases()),
                         [](const auto& c) { return std::string(c.param.name); });

TEST(MicroBatches, PackedStepsAreEqualForAllRanksAndOverEpochsEachRowComesOnce) {
  const data::Dataset dataset = Rows();
  const int64_t sequences = data::PackTraining(dataset, 5).size();
  const job::BatchPlan two{.micro = 1, .devices = 2, .accumulation = 1, .global = 2};
  const job::BatchPlan one{.micro = 1, .devices = 1, .accumulation = 2, .global = 2};
  const train::RowOrder order{.seed = 5, .packing = true};
  train::MicroBatches first(dataset, two, order, 0, at::kCPU),
      second(dataset, two, order, 1, at::kCPU), alone(dataset, one, order, 0, at::kCPU),
      later(dataset, one, order, 0, at::kCPU);
  EXPECT_EQ(first.steps_per_epoch(), sequences / 2);
  EXPECT_EQ(first.steps_per_epoch(), second.steps_per_epoch());
  for (int64_t step = 0; step < 3 * first.steps_per_epoch(); ++step) {
    EXPECT_TRUE(at::equal(first.Training(step, 0).inputs, alone.Training(step, 0).inputs));
    EXPECT_TRUE(at::equal(second.Training(step, 0).inputs, alone.Training(step, 1).inputs));
    EXPECT_EQ(first.Counts(step).rows, alone.Counts(step).rows);
  }
  const int64_t last = 3 * first.steps_per_epoch() - 1;  // as a run that goes on there
  EXPECT_TRUE(at::equal(later.Training(last, 1).inputs, second.Training(last, 0).inputs));
  train::MicroBatches each(dataset, {.micro = 1, .devices = 1, .accumulation = 1, .global = 1},
                           order, 0, at::kCPU);
  int64_t rows = 0;
  for (int64_t step = 0; step < each.steps_per_epoch(); ++step) rows += each.Counts(step).rows;
  EXPECT_EQ(rows, std::ssize(dataset.train));
}

}  // namespace
}  // namespace trainctl::engine_test
