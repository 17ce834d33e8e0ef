// Windows that rows reach beyond, and rotation that depends on the longest row: what they change,
// and that they change no bit where they are not reached. Numbers are beside transformers in
// baseline_test.cc.
#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/engine/held_parameters.h"
#include "worker/rank/model/model.h"
#include "worker/rank/train/micro_batches.h"

namespace trainctl::engine_test {
namespace {

constexpr int64_t kVocab = 61, kRows = 6, kLongest = 37;

job::ModelShape Shape(int64_t window, std::vector<int64_t> full = {}) {
  return {.family = "mistral",
          .layers = 3,
          .hidden = 32,
          .intermediate = 48,
          .heads = 4,
          .kv_heads = 2,
          .head_dim = 8,
          .vocab = kVocab,
          .max_positions = 128,
          .sliding_window = window,
          .full_layers = std::move(full)};
}

job::ModelShape Dynamic(int64_t max_positions) {
  job::ModelShape shape = Shape(0);
  shape.max_positions = max_positions;
  shape.rope_scaling = job::RopeScaling{.type = job::RopeType::kDynamic, .factor = 4};
  return shape;
}

// Its first row is the longest.
data::Dataset Rows() {
  data::Dataset dataset;
  std::vector<int32_t> tokens;
  for (int64_t row = 0; row < kRows; ++row) {
    const int64_t length = kLongest - 6 * row;
    dataset.rows.push_back({std::ssize(tokens), length, 0});
    dataset.train.push_back(row);
    for (int64_t t = 0; t < length; ++t)
      tokens.push_back(static_cast<int32_t>((row * row + 7 * t + t * t) % kVocab));
  }
  dataset.tokens = data::TokenStore(std::move(tokens));
  dataset.max_seq_length = 96;
  return dataset;
}

struct Held {
  std::unique_ptr<model::Model> model;
  std::vector<at::Tensor> weights;
};

Held Make(const job::ModelShape& shape) {
  Held held{std::move(model::MakeModel(shape, {.max_length = 128}).value()), {}};
  at::manual_seed(7);
  for (const ops::ParamSpec& spec : held.model->parameters().params)
    held.weights.push_back(at::randn(spec.shape).mul_(0.3));
  return held;
}

// The loss and every gradient of all rows together.
std::vector<at::Tensor> Results(const job::ModelShape& shape, bool packing) {
  const Held held = Make(shape);
  const data::Dataset dataset = Rows();
  const int64_t global = packing ? data::PackTraining(dataset, 5).size() : kRows;
  train::MicroBatches batches(dataset,
                              {.micro = global, .devices = 1, .accumulation = 1, .global = global},
                              {.seed = 5, .packing = packing}, 0, at::kCPU);
  model::MicroBatch batch = batches.Training(0, 0);
  EXPECT_EQ(batch.longest(), kLongest);
  EXPECT_GT(batch.length, kLongest);
  HeldParameters parameters(held.weights);
  std::vector<at::Tensor> results = {at::zeros({}, at::kDouble)};
  batch.loss_sum = results[0];
  ops::Tape tape(true);
  ops::Context context{tape, parameters, ops::AtenKernels(), held.model->norm_eps()};
  held.model->Loss(context, batch);
  tape.Backward();
  for (ops::ParamId param = 0; param < std::ssize(held.weights); ++param)
    results.push_back(parameters.grad(param));
  return results;
}

bool AreEqual(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  return std::ranges::equal(
      a, b, [](const at::Tensor& x, const at::Tensor& y) { return at::equal(x, y); });
}

// Of one row that is not padded.
at::Tensor Hidden(const Held& held, const std::vector<int64_t>& ids) {
  std::vector<at::Tensor> copies = held.weights;
  HeldParameters parameters(copies);
  ops::Tape tape(false);
  ops::Context context{tape, parameters, ops::AtenKernels(), held.model->norm_eps()};
  return held.model
      ->Hidden(context,
               {.rows = 1, .length = std::ssize(ids), .inputs = at::tensor(ids, at::kLong)})
      .value;
}

class LongRowsTest : public testing::TestWithParam<bool> {
 protected:
  const c10::NoGradGuard no_grad_;
};

TEST_P(LongRowsTest, AWindowThatNoRowReachesBeyondChangesNoBit) {
  const std::vector<at::Tensor> without = Results(Shape(0), GetParam());
  EXPECT_TRUE(AreEqual(Results(Shape(kLongest), GetParam()), without));
  EXPECT_TRUE(AreEqual(Results(Shape(5, {0, 1, 2}), GetParam()), without));
  // Nothing is predicted from the last position.
  EXPECT_FALSE(AreEqual(Results(Shape(kLongest - 2), GetParam()), without));
  EXPECT_FALSE(AreEqual(Results(Shape(5, {0, 1}), GetParam()), without));
}

TEST_P(LongRowsTest, DynamicRotationChangesNoBitOfRowsUpToItsPositions) {
  const std::vector<at::Tensor> without = Results(Shape(0), GetParam());
  EXPECT_TRUE(AreEqual(Results(Dynamic(kLongest), GetParam()), without));
  EXPECT_FALSE(AreEqual(Results(Dynamic(kLongest - 1), GetParam()), without));
}

INSTANTIATE_TEST_SUITE_P(Packing, LongRowsTest, testing::Bool(), [](const auto& packing) {
  return std::string(packing.param ? "packed" : "padded");
});

TEST(LongRows, AnInputReachesAsFarAsTheWindowsOfAllLayers) {
  const c10::NoGradGuard no_grad;
  constexpr int64_t kWindow = 5, kChanged = 3, kLength = 30;
  const Held local = Make(Shape(kWindow)), mixed = Make(Shape(kWindow, {1}));
  std::vector<int64_t> ids(kLength, 7);
  for (int64_t i = 0; i < kLength; ++i) ids[i] = (5 * i + i * i) % kVocab;
  std::vector<int64_t> other = ids;
  other[kChanged] += 1;
  const auto last_changed = [&](const Held& held) {
    const at::Tensor same = (Hidden(held, ids) == Hidden(held, other)).all(1);
    int64_t last = -1;
    for (int64_t i = 0; i < kLength; ++i) {
      if (!same[i].item<bool>()) last = i;
    }
    return last;
  };
  EXPECT_EQ(last_changed(local), kChanged + 3 * (kWindow - 1));
  EXPECT_EQ(last_changed(mixed), kLength - 1);
}

TEST(LongRows, DynamicRotationIsThatOfTheLongestRowOfTheBatchAlone) {
  const c10::NoGradGuard no_grad;
  const Held held = Make(Dynamic(20));
  const std::vector<int64_t> short_row = {5, 6, 7, 8, 9};
  std::vector<int64_t> long_row;
  for (int64_t i = 0; i < 30; ++i) long_row.push_back((3 * i + i * i) % kVocab);
  const at::Tensor before = Hidden(held, short_row);
  const at::Tensor longer = Hidden(held, long_row);
  EXPECT_TRUE(at::equal(Hidden(held, short_row), before))
      << "what was computed between is forgotten";
  std::vector<int64_t> middle(long_row.begin(), long_row.begin() + 25);
  EXPECT_FALSE(at::allclose(Hidden(held, middle), longer.narrow(0, 0, 25), 1e-4, 1e-4));
}

}  // namespace
}  // namespace trainctl::engine_test
