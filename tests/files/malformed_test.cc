// Damaged files are errors with a message, never crashes (the sanitizers watch).
#include <gtest/gtest.h>

#include "common/base/file.h"
#include "common/model/model_description.h"
#include "tests/checkout.h"
#include "tests/files/mutate.h"
#include "tests/files/safetensors_bytes.h"
#include "worker/rank/files/litgpt_config.h"
#include "worker/rank/files/model_config.h"
#include "worker/rank/files/safetensors.h"

namespace trainctl::files {
namespace {

constexpr int kRounds = 4000;

// Of mutations of a configuration some are refused; what is taken is a model.
template <class Parse>
void ExpectRefusedOrPossible(const std::string& path, uint64_t seed, Parse parse) {
  const std::string whole = base::ReadFile(checkout::File(path), 1 << 20).value();
  std::mt19937_64 random(seed);
  int refused = 0;
  for (int round = 0; round < kRounds; ++round) {
    auto shape = parse(Mutate(whole, &random), path);
    if (shape.ok()) {
      EXPECT_GT(job::Parameters(job::Describe(*shape)), 0);
      EXPECT_EQ(shape->heads % shape->kv_heads, 0);
    } else {
      ++refused;
    }
  }
  EXPECT_GT(refused, kRounds / 4);
}

TEST(Malformed, SafetensorsAreRefusedOrKeepWithinTheirFile) {
  const std::string whole = SafetensorsBytes(
      R"({"__metadata__":{"format":"pt"},"a":{"dtype":"BF16","shape":[1,3],"data_offsets":[0,6]},)"
      R"("b":{"dtype":"F32","shape":[1],"data_offsets":[6,10]}})",
      "aaaaaabbbb");
  std::mt19937_64 random(1);
  int refused = 0;
  for (int round = 0; round < kRounds; ++round) {
    const std::string file = Mutate(whole, &random);
    auto header = ParseSafetensorsHeader(std::as_bytes(std::span(file)), "m");
    if (header.ok()) {
      for (const TensorInfo& tensor : header->tensors)
        EXPECT_LE(header->data_begin + tensor.end, static_cast<int64_t>(file.size()));
    } else {
      ++refused;
      EXPECT_FALSE(header.error().message.empty());
    }
  }
  EXPECT_GT(refused, kRounds / 2);
}

TEST(Malformed, ConfigurationsAreRefusedOrPossible) {
  ExpectRefusedOrPossible("deploy/models/TinyLlama-1.1B/config.json", 2, ParseModelConfig);
}

TEST(Malformed, ConfigurationsOfLitGptAreRefusedOrPossible) {
  ExpectRefusedOrPossible("tests/baselines/litgpt/tiny-llama-1.1b.yaml", 3, ParseLitGptConfig);
}

}  // namespace
}  // namespace trainctl::files
