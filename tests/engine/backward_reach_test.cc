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
