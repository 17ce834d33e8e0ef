// What the estimate counts of a model is what the model's own parameter table holds.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include "common/estimate/memory_units.h"
#include "common/model/layout.h"
#include "common/model/model_tensors.h"
#include "tests/engine/family_shapes.h"
#include "worker/rank/files/safetensors.h"
#include "worker/rank/model/model.h"
#include "worker/rank/state/tensor_piece.h"

namespace trainctl::engine_test {
namespace {

int64_t Pad(int64_t elements) {
  return (elements + job::kTensorAlignment - 1) / job::kTensorAlignment * job::kTensorAlignment;
}

job::UnitElements HeldIn(const ops::ParameterTable& table, const std::string& unit) {
  job::UnitElements held;
  for (const ops::ParamSpec& spec : table.params) {
    if (table.units[spec.unit].name != unit) continue;
    for (const ops::ParamPiece& piece : spec.pieces) {
      const int64_t elements = Pad(piece.rows * spec.columns());
      if (spec.trainable) held.tensors.push_back(piece.rows * spec.columns());
      (spec.trainable ? held.trainable : spec.quantized ? held.quantized : held.frozen) += elements;
    }
  }
  return held;
}

// Adapters are counted in another order than they lie in.
void ExpectSame(job::UnitElements actual, job::UnitElements expected, bool in_order) {
  if (!in_order) {
    std::ranges::sort(actual.tensors);
    std::ranges::sort(expected.tensors);
  }
  EXPECT_EQ(actual.tensors, expected.tensors);
  EXPECT_EQ(actual.trainable, expected.trainable);
  EXPECT_EQ(actual.frozen, expected.frozen);
  EXPECT_EQ(actual.quantized, expected.quantized);
}

job::ModelShape Llama() {
  return {.layers = 2,
          .hidden = 96,
          .intermediate = 160,
          .heads = 6,
          .kv_heads = 2,
          .head_dim = 32,
          .vocab = 301,
          .max_positions = 64};
}

job::ModelShape Opt() {
  job::ModelShape shape = Llama();
  shape.family = "opt";
  shape.kv_heads = shape.heads;
  shape.head_dim = shape.hidden / shape.heads;
  return shape;
}

job::ModelShape Blip2() {
  job::ModelShape shape = Opt();
  shape.family = "blip-2";
  shape.tied_head = true;
  shape.image = {.side = 28,
                 .patch = 14,
                 .token = 300,
                 .vision_layers = 2,
                 .vision_hidden = 48,
                 .vision_intermediate = 80,
                 .vision_heads = 4,
                 .queries = 5,
                 .qformer_layers = 3,
                 .qformer_hidden = 64,
                 .qformer_intermediate = 96,
                 .qformer_heads = 4};
  return shape;
}

// {what it shows: a shape}
std::map<std::string, job::ModelShape> Shapes() {
  std::map<std::string, job::ModelShape> shapes = {{"llama", Llama()}};
  shapes["tied"] = shapes["biases"] = shapes["head norms"] = Llama();
  shapes["tied"].tied_head = true;
  job::ModelShape& biases = shapes["biases"];
  biases.qkv_bias = biases.out_bias = biases.mlp_bias = true;
  shapes["head norms"].head_norms = true;
  shapes["opt"] = shapes["opt, tied"] = Opt();
  shapes["opt, tied"].tied_head = true;
  shapes["blip-2"] = Blip2();
  shapes.merge(FamilyShapes());
  return shapes;
}

TEST(Description, TheTableHoldsWhatTheEstimateCounts) {
  job::JobSpec full, lora, quantized, frozen;
  frozen.freeze = {"vision"};
  lora.lora = job::LoraSpec{.r = 4};
  quantized.lora = job::LoraSpec{.r = 4, .targets = {"q", "down"}};
  quantized.quantize = job::Quantize::kNf4;
  for (const auto& [name, shape] : Shapes()) {
    for (const job::JobSpec& job : {full, lora, quantized, frozen}) {
      if (!job.freeze.empty() && !shape.image) continue;
      SCOPED_TRACE(name + (job.quantize         ? ", quantized"
                           : job.lora           ? ", lora"
                           : job.freeze.empty() ? ""
                                                : ", frozen"));
      const auto model = std::move(model::MakeModel(shape, {.max_length = 64,
                                                            .lora = job.lora,
                                                            .quantize = job.quantize.has_value(),
                                                            .freeze = job.freeze})
                                       .value());
      const bool in_order = !job.lora;
      const job::ModelUnits units = job::UnitsOf(job, shape);
      ExpectSame(HeldIn(model->parameters(), "embedding"), units.embedding, in_order);
      ExpectSame(HeldIn(model->parameters(), "block.1"), units.block, in_order);
      ExpectSame(HeldIn(model->parameters(), "head"), units.head, in_order);
      const auto encoder = static_cast<int64_t>(units.encoder.size());
      EXPECT_EQ(static_cast<int64_t>(model->parameters().units.size()), encoder + units.layers + 2);
      for (int64_t i = 0; i < encoder; ++i)
        ExpectSame(HeldIn(model->parameters(), model->parameters().units[i].name),
                   units.encoder[i].elements, in_order);
    }
  }
}

TEST(Description, TheTableHoldsTheTensorsThatAnInspectionLooksFor) {
  for (const auto& [name, shape] : Shapes()) {
    SCOPED_TRACE(name);
    const auto model = std::move(model::MakeModel(shape, {.max_length = 64}).value());
    std::map<std::string, std::vector<int64_t>> held, expected;
    for (const ops::ParamSpec& spec : model->parameters().params) {
      for (const ops::ParamPiece& piece : spec.pieces)
        held[piece.name] = train::FileShape(spec, piece);
    }
    for (const job::FileTensor& tensor : job::TensorsOf(job::Describe(shape)))
      EXPECT_TRUE(expected.emplace(tensor.name, tensor.shape).second) << tensor.name;
    EXPECT_EQ(expected, held);
  }
}

// A tied head is in the file once.
int64_t ElementsIn(const std::string& directory) {
  const auto file = files::SafetensorsFile::Open(directory + "/model.safetensors").value();
  int64_t elements = 0;
  for (const files::TensorInfo& tensor : file.tensors())
    elements +=
        std::accumulate(tensor.shape.begin(), tensor.shape.end(), int64_t{1}, std::multiplies<>());
  return elements;
}

TEST(Description, OfEveryFamilyTheEstimateCountsTheElementsThatTransformersHasSaved) {
  std::set<std::string> counted;
  for (const auto& [directory, shape] : FamilyShapes()) {
    EXPECT_EQ(job::Parameters(job::Describe(shape)), ElementsIn(directory)) << directory;
    counted.insert(shape.family);
  }
  for (const std::string& family : model::FamilyNames())
    EXPECT_TRUE(counted.contains(family)) << family << ": tests/baselines has none of it";
}

TEST(Description, AFamilyThatIsNotKnownIsRefusedByName) {
  job::ModelShape shape = Llama();
  shape.family = "gpt2";
  const auto model = model::MakeModel(shape, {.max_length = 64});
  ASSERT_FALSE(model.ok());
  EXPECT_NE(model.error().message.find("'gpt2'"), std::string::npos) << model.error().message;
}

TEST(Description, ARowLongerThanTheLearnedPositionsIsRefused) {
  EXPECT_TRUE(model::MakeModel(Opt(), {.max_length = 128, .longest_row = 64}).ok());
  const auto model = model::MakeModel(Opt(), {.max_length = 128, .longest_row = 65});
  ASSERT_FALSE(model.ok());
  EXPECT_NE(model.error().message.find("max_position_embeddings"), std::string::npos)
      << model.error().message;
}

TEST(Description, APartThatTheModelDoesNotHaveIsNotFrozenNorAllOfThem) {
  EXPECT_TRUE(model::MakeModel(Blip2(), {.max_length = 64, .freeze = {"vision"}}).ok());
  const auto text = model::MakeModel(Opt(), {.max_length = 64, .freeze = {"vision"}});
  ASSERT_FALSE(text.ok());
  EXPECT_NE(text.error().message.find("freeze: vision"), std::string::npos) << text.error().message;
  const auto all = model::MakeModel(
      Blip2(), {.max_length = 64, .freeze = {"vision", "qformer", "projection", "language"}});
  ASSERT_FALSE(all.ok());
  EXPECT_NE(all.error().message.find("nothing would be trained"), std::string::npos);
}

TEST(Description, AnAdapterOfALayerThatTheModelDoesNotHaveIsRefused) {
  const auto model =
      model::MakeModel(Opt(), {.max_length = 64, .lora = job::LoraSpec{.targets = {"q", "gate"}}});
  ASSERT_FALSE(model.ok());
  EXPECT_NE(model.error().message.find("lora.targets: gate"), std::string::npos)
      << model.error().message;
}

}  // namespace
}  // namespace trainctl::engine_test
