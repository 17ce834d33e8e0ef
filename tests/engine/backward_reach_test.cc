// How far a backward goes, and what it computes again: no further, and no more, than gradients
// need.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/remainder.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "tests/engine/held_parameters.h"
#include "worker/rank/model/model.h"

namespace trainctl::engine_test {
namespace {

using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;

constexpr int64_t kRows = 2, kLength = 8, kVocab = 64;
constexpr job::ModelShape kShape{.layers = 3,
                                 .hidden = 32,
                                 .intermediate = 48,
                                 .heads = 4,
                                 .kv_heads = 2,
                                 .head_dim = 8,
                                 .vocab = kVocab,
                                 .max_positions = kLength};

// Rows begin with the placeholders of their picture.
const job::ModelShape kPictures = {.family = "blip-2",
                                   .layers = 2,
                                   .hidden = 32,
                                   .intermediate = 48,
                                   .heads = 4,
                                   .kv_heads = 4,
                                   .head_dim = 8,
                                   .vocab = kVocab + 1,
                                   .max_positions = kLength,
                                   .tied_head = true,
                                   .image = job::ImageShape{.side = 28,
                                                            .patch = 14,
                                                            .token = kVocab,
                                                            .vision_layers = 2,
                                                            .vision_hidden = 48,
                                                            .vision_intermediate = 80,
                                                            .vision_heads = 4,
                                                            .queries = 3,
                                                            .qformer_layers = 2,
                                                            .qformer_hidden = 32,
                                                            .qformer_intermediate = 48,
                                                            .qformer_heads = 4}};

// Remembers in which passes units were begun, and which weights each pass asked for.
class WatchedParameters : public HeldParameters {
 public:
  using HeldParameters::HeldParameters;

  void BeginUnit(ops::UnitId unit, ops::Pass pass) override {
    HeldParameters::BeginUnit(unit, pass);
    pass_ = pass;
    begun[pass].insert(unit);
  }
  at::Tensor Weight(ops::ParamId param) override {
    asked[pass_].insert(param);
    return HeldParameters::Weight(param);
  }

  std::map<ops::Pass, std::set<ops::UnitId>> begun;
  std::map<ops::Pass, std::set<ops::ParamId>> asked;

 private:
  ops::Pass pass_ = ops::Pass::kForward;
};

std::set<ops::ParamId> FrozenOf(const ops::ParameterTable& table) {
  std::set<ops::ParamId> frozen;
  for (size_t i = 0; i < table.params.size(); ++i)
    if (!table.params[i].trainable) frozen.insert(static_cast<ops::ParamId>(i));
  return frozen;
}

std::set<ops::UnitId> FrozenUnitsOf(const ops::ParameterTable& table) {
  std::set<ops::UnitId> frozen;
  for (size_t unit = 0; unit < table.units.size(); ++unit) {
    bool trains = false;
    for (const ops::ParamId param : table.units[unit].params)
      trains = trains || table.params[param].trainable;
    if (!trains) frozen.insert(static_cast<ops::UnitId>(unit));
  }
  return frozen;
}

std::vector<at::Tensor> Weights(const ops::ParameterTable& table) {
  const at::Generator seeded = at::detail::createCPUGenerator(/*seed=*/7);
  std::vector<at::Tensor> weights;
  for (const ops::ParamSpec& spec : table.params)
    weights.push_back(at::randn(spec.shape, seeded).mul_(0.1));
  return weights;
}

// One forward and backward with these parameters.
void Train(const model::Model& model, WatchedParameters& parameters) {
  const c10::NoGradGuard no_grad;
  const at::Tensor ids = at::remainder(at::arange(kRows * kLength) * 37, kVocab);
  ops::Tape tape(true);
  ops::Context context{tape, parameters, ops::AtenKernels(), kShape.norm_eps, false};
  model.Loss(context, {.rows = kRows,
                       .length = kLength,
                       .inputs = ids,
                       .targets = at::remainder(ids + 5, kVocab),
                       .loss_sum = at::zeros({}, at::kDouble),
                       .grad_scale = 1.0 / (kRows * kLength)});
  tape.Backward();
  EXPECT_TRUE(parameters.AllUnitsClosed());
}

std::unique_ptr<model::Model> Make(int64_t checkpoint_every,
                                   std::optional<job::LoraSpec> lora = {}) {
  return std::move(model::MakeModel(kShape, {.max_length = kLength,
                                             .checkpoint_every = checkpoint_every,
                                             .lora = std::move(lora)})
                       .value());
}

// One forward and backward of captions with these parameters.
void TrainOnPictures(const model::Model& model, WatchedParameters& parameters) {
  const c10::NoGradGuard no_grad;
  const at::Tensor ids =
      at::remainder(at::arange(kRows * kLength) * 37, kVocab).view({kRows, kLength});
  ids.narrow(1, 0, kPictures.image->queries).fill_(kPictures.image->token);
  ops::Tape tape(true);
  ops::Context context{tape, parameters, ops::AtenKernels(), kPictures.norm_eps, false};
  const int64_t side = kPictures.image->side;
  model.Loss(context,
             {.rows = kRows,
              .length = kLength,
              .inputs = ids.flatten(),
              .targets = at::remainder(ids.flatten() + 5, kVocab),
              .loss_sum = at::zeros({}, at::kDouble),
              .grad_scale = 1.0 / (kRows * kLength),
              .images = at::randn({kRows, 3, side, side}, at::detail::createCPUGenerator(3))});
  tape.Backward();
  EXPECT_TRUE(parameters.AllUnitsClosed());
}

// Those whose names begin so.
std::set<ops::UnitId> UnitsOf(const ops::ParameterTable& table,
                              const std::vector<std::string>& prefixes) {
  std::set<ops::UnitId> found;
  for (const std::string& prefix : prefixes) {
    const size_t before = found.size();
    for (size_t unit = 0; unit < table.units.size(); ++unit)
      if (table.units[unit].name.starts_with(prefix)) found.insert(static_cast<ops::UnitId>(unit));
    EXPECT_GT(found.size(), before) << prefix;
  }
  return found;
}

// The parameters one of whose pieces has this in its name.
std::set<ops::ParamId> Named(const ops::ParameterTable& table, const std::string& part) {
  std::set<ops::ParamId> found;
  for (size_t i = 0; i < table.params.size(); ++i)
    for (const ops::ParamPiece& piece : table.params[i].pieces)
      if (piece.name.find(part) != std::string::npos) found.insert(static_cast<ops::ParamId>(i));
  return found;
}

TEST(BackwardReach, LoraOnTheHeadAloneRunsNoBlocksBackward) {
  for (const int64_t checkpoint_every : {0, 1}) {
    const auto model =
        Make(checkpoint_every, job::LoraSpec{.r = 4, .dropout = 0, .targets = {"head"}});
    const ops::ParameterTable& table = model->parameters();
    const auto head = static_cast<ops::UnitId>(table.units.size() - 1);
    WatchedParameters watched(Weights(table), FrozenOf(table), FrozenUnitsOf(table));
    Train(*model, watched);
    EXPECT_THAT(watched.begun[ops::Pass::kBackward], UnorderedElementsAre(head));
    EXPECT_THAT(watched.begun[ops::Pass::kRecompute], IsEmpty());

    WatchedParameters all_the_way(Weights(table), FrozenOf(table));
    Train(*model, all_the_way);
    for (const ops::ParamId adapter : Named(table, "lora_")) {
      EXPECT_TRUE(watched.grad(adapter).equal(all_the_way.grad(adapter)));
      EXPECT_GT(watched.grad(adapter).abs().sum().item<float>(), 0);
    }
    EXPECT_THAT(Named(table, "lora_"), Not(IsEmpty()));
  }
}

TEST(BackwardReach, FrozenPartsRunNoBackwardWhereNothingBelowThemTrains) {
  struct Case {
    std::vector<std::string> freeze, rest;  // parts; units that run no backward
  };
  const std::vector<Case> cases = {
      {{}, {}},
      {{"vision"}, {"vision."}},
      {{"vision", "qformer"}, {"vision.", "qformer."}},
      {{"vision", "qformer", "projection"}, {"vision.", "qformer.", "projection"}},
      {{"vision", "projection", "language"}, {"vision."}},
      {{"qformer"}, {"qformer.embedding"}},  // the pictures, which train, come in above it
      {{"language"}, {}}};
  for (const auto& [freeze, rest] : cases) {
    for (const int64_t checkpoint_every : {0, 1}) {
      SCOPED_TRACE(testing::PrintToString(freeze) + ", " + std::to_string(checkpoint_every));
      const auto model =
          std::move(model::MakeModel(kPictures, {.max_length = kLength,
                                                 .checkpoint_every = checkpoint_every,
                                                 .freeze = freeze})
                        .value());
      const ops::ParameterTable& table = model->parameters();
      WatchedParameters watched(Weights(table), FrozenOf(table), FrozenUnitsOf(table));
      TrainOnPictures(*model, watched);
      std::set<ops::UnitId> expected;
      const std::set<ops::UnitId> resting = UnitsOf(table, rest);
      for (size_t unit = 0; unit < table.units.size(); ++unit) {
        const auto id = static_cast<ops::UnitId>(unit);
        if (!resting.contains(id)) expected.insert(id);
      }
      EXPECT_EQ(watched.begun[ops::Pass::kBackward], expected);
      for (const ops::UnitId unit : resting)
        EXPECT_FALSE(watched.begun[ops::Pass::kRecompute].contains(unit));
      EXPECT_EQ(watched.begun[ops::Pass::kRecompute].empty(), checkpoint_every == 0);

      WatchedParameters all_the_way(Weights(table), FrozenOf(table));
      TrainOnPictures(*model, all_the_way);
      for (size_t param = 0; param < table.params.size(); ++param) {
        const auto id = static_cast<ops::ParamId>(param);
        if (!table.params[param].trainable) continue;
        EXPECT_TRUE(watched.grad(id).equal(all_the_way.grad(id)))
            << table.params[param].pieces[0].name;
      }
    }
  }
}

TEST(BackwardReach, ARecomputationStopsAtTheLastTensorThatIsSaved) {
  const auto kept = Make(0), again = Make(1);
  const ops::ParameterTable& table = again->parameters();
  WatchedParameters whole(Weights(table)), recomputed(Weights(table));
  Train(*kept, whole);
  Train(*again, recomputed);
  const std::set<ops::ParamId>& asked = recomputed.asked[ops::Pass::kRecompute];
  EXPECT_TRUE(asked.contains(*Named(table, "layers.1.mlp.up_proj").begin()));
  for (const ops::ParamId down : Named(table, "down_proj")) EXPECT_FALSE(asked.contains(down));
  for (size_t param = 0; param < table.params.size(); ++param) {
    const auto id = static_cast<ops::ParamId>(param);
    EXPECT_TRUE(recomputed.grad(id).equal(whole.grad(id))) << table.params[param].pieces[0].name;
  }
}

TEST(BackwardReach, ARecomputationKeepsWhatAdaptersNeed) {
  const job::LoraSpec lora{.r = 4, .dropout = 0, .targets = {"down", "q"}};
  const auto kept = Make(0, lora), again = Make(1, lora);
  const ops::ParameterTable& table = again->parameters();
  WatchedParameters whole(Weights(table), FrozenOf(table), FrozenUnitsOf(table)),
      recomputed(Weights(table), FrozenOf(table), FrozenUnitsOf(table));
  Train(*kept, whole);
  Train(*again, recomputed);
  for (const ops::ParamId adapter : Named(table, "lora_"))
    EXPECT_TRUE(recomputed.grad(adapter).equal(whole.grad(adapter)));
}

}  // namespace
}  // namespace trainctl::engine_test
