#include "worker/rank/files/adapter_config.h"

#include <gmock/gmock.h>

#include <fstream>

#include "tests/files/scratch_directory.h"

namespace trainctl::files {
namespace {

using testing::HasSubstr;

constexpr char kAdapter[] = R"({"base_model_name_or_path": "/m", "r": 4, "lora_alpha": 8)";

std::string AdapterError(const std::string& more) {
  const auto read = ParseAdapterConfig(kAdapter + more + "}", "a.json");
  return read ? "" : read.error().message;
}

TEST(AdapterConfig, WhatIsWrittenIsRead) {
  const auto read = ParseAdapterConfig(
      AdapterConfigJson(
          {.base_model = "/m", .r = 4, .alpha = 6.5, .dropout = 0.1, .target_modules = {"q_proj"}}),
      "a.json");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->base_model, "/m");
  EXPECT_EQ(read->r, 4);
  EXPECT_EQ(read->alpha, 6.5);
}

TEST(AdapterConfig, OtherKindsOfAdaptersAreRefusedByKey) {
  EXPECT_EQ(AdapterError(""), "");
  EXPECT_EQ(AdapterError(R"(, "use_dora": false, "rank_pattern": {}, "modules_to_save": [])"), "");
  EXPECT_EQ(AdapterError(R"(, "modules_to_save": null, "init_lora_weights": "gaussian")"), "");
  for (const char* other :
       {R"("peft_type": "IA3")", R"("use_dora": true)", R"("use_rslora": true)", R"("bias": "all")",
        R"("fan_in_fan_out": true)", R"("modules_to_save": ["lm_head"])",
        R"("init_lora_weights": "pissa")", R"("layer_replication": [[0, 2]])",
        R"("rank_pattern": {"q_proj": 2})"}) {
    const std::string key = std::string(other).substr(1, std::string(other).find('"', 1) - 1);
    EXPECT_THAT(AdapterError(std::string(", ") + other), HasSubstr("a.json: " + key)) << other;
  }
}

TEST(AdapterConfig, WhatIsMissingIsNamed) {
  for (const char* key : {"base_model_name_or_path", "r", "lora_alpha"}) {
    std::string text = std::string(kAdapter) + "}";
    text.replace(text.find(key), 1, "x");
    const auto read = ParseAdapterConfig(text, "a.json");
    ASSERT_FALSE(read.ok()) << key;
    EXPECT_EQ(read.error().code, base::Code::kInvalid);
    EXPECT_THAT(read.error().message, HasSubstr(key));
  }
  EXPECT_FALSE(ParseAdapterConfig("{", "a.json").ok());
  EXPECT_FALSE(ParseAdapterConfig("[]", "a.json").ok());
}

TEST(AdapterConfig, AJobsLoraIsTheAdapters) {
  const ScratchDirectory scratch;
  std::ofstream(scratch.path() + "/adapter_config.json") << kAdapter << "}";
  job::JobSpec job;
  const auto error = [&] {
    const auto checked = CheckAdapter(scratch.path(), job);
    return checked ? "" : checked.error().message;
  };
  EXPECT_THAT(error(), HasSubstr("is an adapter: add \"lora\" with its r 4 and alpha 8"));
  job.lora = job::LoraSpec{.r = 8, .alpha = 8};
  EXPECT_THAT(error(), HasSubstr("lora.r: 8: expected 4, as "));
  job.lora->r = 4;
  job.lora->alpha = 2.5;
  EXPECT_THAT(error(), HasSubstr("lora.alpha: 2.5: expected 8, as "));
  job.lora->alpha = 8;
  EXPECT_EQ(error(), "");
}

}  // namespace
}  // namespace trainctl::files
