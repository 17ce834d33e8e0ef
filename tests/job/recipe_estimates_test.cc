// What is predicted of each of the labs' experiments (LLaMA and chess) under the memory limit of
// the lab.
#include <gtest/gtest.h>

#include <algorithm>

#include "common/estimate/memory_estimate.h"
#include "tests/job/deployed_model.h"
#include "tests/job/gib.h"
#include "tests/job/valid_job.h"

namespace trainctl::job {
namespace {

constexpr int64_t k80GB = 80'000'000'000;
constexpr int64_t k64GiB = int64_t{64} << 30;

enum class Lab { kRan, kOutOfMemory, kNotSaid };
struct Recipe {
  const char* id;
  const char* model;
  void (*set)(JobSpec&);
  int64_t limit = k80GB;
  Lab lab = Lab::kRan;
  bool fits = true;  // here
};

void PrintTo(const Recipe& recipe, std::ostream* out) { *out << recipe.id; }

Inspection ModelOf(const std::string& name) {
  return {.model = DeployedModel(name), .longest_row = 512};
}

void Batch(JobSpec& job, int64_t global, int64_t micro) {
  job.train.global_batch_size = global;
  job.train.micro_batch_size = micro;
}

void Full(JobSpec& job, int64_t global, int64_t micro) {
  job.precision = Precision::kBf16True;
  Batch(job, global, micro);
}

void Lora(JobSpec& job) {
  Full(job, 16, 4);
  job.lora = LoraSpec{};
}

void Sharded(JobSpec& job, int64_t global, int64_t micro) {
  Full(job, global, micro);
  job.devices = 4;
  job.strategy = StrategyKind::kFsdp;
}

void Chess(JobSpec& job, int64_t micro) {
  Sharded(job, 64, micro);
  job.precision = Precision::kBf16Mixed;
}

const Recipe kRecipes[] = {
    {"single-1", "TinyLlama-1.1B", [](JobSpec& j) { Batch(j, 32, 32); }, k80GB, Lab::kOutOfMemory},
    {"single-2", "TinyLlama-1.1B", [](JobSpec& j) { Batch(j, 8, 8); }},
    {"single-3", "TinyLlama-1.1B", [](JobSpec& j) { Batch(j, 32, 8); }},
    {"single-4", "TinyLlama-1.1B", [](JobSpec& j) { Full(j, 32, 8); }},
    {"single-5", "TinyLlama-1.1B",
     [](JobSpec& j) { Batch(j, 32, 8), j.precision = Precision::kBf16Mixed; }},
    {"single-6", "open_llama_3b", [](JobSpec& j) { Full(j, 32, 8); }},
    {"single-7", "open_llama_7b", [](JobSpec& j) { Full(j, 16, 4); }},
    {"single-8", "open_llama_13b", [](JobSpec& j) { Full(j, 1, 1); }, k80GB, Lab::kOutOfMemory,
     false},
    {"single-9", "open_llama_13b",
     [](JobSpec& j) { Full(j, 1, 1), j.optimizer.name = OptimizerKind::kSgd; }},
    {"single-10", "TinyLlama-1.1B", Lora},
    {"single-11", "open_llama_3b", Lora},
    {"single-12", "open_llama_7b", Lora},
    {"single-13", "open_llama_13b", Lora},
    {"single-14", "open_llama_7b", [](JobSpec& j) { Lora(j), j.quantize = Quantize::kNf4; }},
    {"multi-1", "open_llama_7b", [](JobSpec& j) { Full(j, 4, 4); }},
    {"multi-1a", "open_llama_7b", [](JobSpec& j) { Full(j, 16, 4); }},
    {"multi-2", "open_llama_7b", [](JobSpec& j) { Full(j, 16, 4), j.devices = 4; }},
    {"multi-3", "open_llama_7b", [](JobSpec& j) { Sharded(j, 16, 4); }},
    {"multi-4", "open_llama_7b", [](JobSpec& j) { Sharded(j, 32, 8); }},
    {"multi-3-unwrapped", "open_llama_7b",
     [](JobSpec& j) { Sharded(j, 16, 4), j.fsdp_unit = FsdpUnit::kModel; }},
    {"multi-4-unwrapped", "open_llama_7b",
     [](JobSpec& j) { Sharded(j, 32, 8), j.fsdp_unit = FsdpUnit::kModel; }},
    {"multi-5", "open_llama_13b",
     [](JobSpec& j) { Sharded(j, 64, 4), j.offload_optimizer = true; }},
    {"chess-1", "CodeLlama-7b", [](JobSpec& j) { Chess(j, 1); }, k64GiB},
    {"chess-2", "CodeLlama-7b", [](JobSpec& j) { Chess(j, 1), j.strategy = StrategyKind::kDdp; },
     k64GiB, Lab::kOutOfMemory, false},
    {"chess-3-2", "CodeLlama-7b", [](JobSpec& j) { Chess(j, 2); }, k64GiB},
    {"chess-3-4", "CodeLlama-7b", [](JobSpec& j) { Chess(j, 4); }, k64GiB, Lab::kNotSaid},
    {"chess-3-8", "CodeLlama-7b", [](JobSpec& j) { Chess(j, 8); }, k64GiB, Lab::kNotSaid},
    {"chess-3-16", "CodeLlama-7b", [](JobSpec& j) { Chess(j, 16); }, k64GiB, Lab::kNotSaid},
    {"chess-4", "CodeLlama-7b", [](JobSpec& j) { Chess(j, 16), j.activation_checkpointing = 1; },
     k64GiB, Lab::kNotSaid},
    {"further-sgd", "open_llama_7b",
     [](JobSpec& j) { Full(j, 4, 4), j.optimizer.name = OptimizerKind::kSgd; }},
    {"further-8bit", "open_llama_7b",
     [](JobSpec& j) { Full(j, 4, 4), j.optimizer.name = OptimizerKind::kAdamW8bit; }},
    {"further-ckpt", "open_llama_7b",
     [](JobSpec& j) { Full(j, 4, 4), j.activation_checkpointing = 1; }},
    {"further-zero-2", "open_llama_7b",
     [](JobSpec& j) {
       Sharded(j, 16, 4), j.sharding = Sharding::kGradOp, j.offload_optimizer = true;
     }},
};

class RecipeEstimates : public ::testing::TestWithParam<Recipe> {};

TEST_P(RecipeEstimates, OutcomeUnderTheLabsLimitWithBothEngines) {
  const Recipe& recipe = GetParam();
  JobSpec job = SmallestJob();
  recipe.set(job);
  for (const EngineKind engine : {EngineKind::kFused, EngineKind::kReference}) {
    job.engine = engine;
    const int64_t peak =
        EstimateMemory(job, ModelOf(recipe.model), DeviceKind::kCuda).peak_allocated;
    EXPECT_EQ(peak <= recipe.limit, recipe.fits)
        << "predicted " << static_cast<double>(peak) / static_cast<double>(kGiB) << " GiB";
    EXPECT_TRUE(recipe.lab != Lab::kRan || peak <= recipe.limit) << "it ran in the lab";
  }
}

std::string NameOf(const ::testing::TestParamInfo<Recipe>& info) {
  std::string name = info.param.id;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Labs, RecipeEstimates, ::testing::ValuesIn(kRecipes), NameOf);

}  // namespace
}  // namespace trainctl::job
