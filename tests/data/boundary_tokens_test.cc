#include "worker/rank/data/boundary_tokens.h"

#include <gmock/gmock.h>

#include "tests/data/small_tokenizers.h"

namespace trainctl::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int32_t kModelBos = 254, kModelEos = 255, kB = 256, kE = 257;
constexpr char kNone[] = "null";
constexpr char kOffsets[] = R"({"type": "ByteLevel", "trim_offsets": true})";
constexpr char kAddsB[] =
    R"({"type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "<b>", "type_id": 0}},
                   {"Sequence": {"id": "A", "type_id": 0}},
                   {"SpecialToken": {"id": "<e>", "type_id": 0}}],
        "special_tokens": {"<b>": {"id": "<b>", "ids": [256], "tokens": ["<b>"]},
                           "<e>": {"id": "<e>", "ids": [257], "tokens": ["<e>"]}}})";
constexpr char kAddsNothing[] =
    R"({"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A", "type_id": 0}}],
        "special_tokens": {}})";
constexpr char kRoberta[] =
    R"({"type": "RobertaProcessing", "sep": ["<e>", 257], "cls": ["<b>", 256]})";

// With <b> as id 256 and <e> as 257 beside the model's 254 and 255, which no text names.
base::Result<BoundaryTokens> Read(const std::string& post_processor, const std::string& config,
                                  const std::string& map = "") {
  const ScratchDirectory directory;
  if (!config.empty()) directory.Write("tokenizer_config.json", config);
  if (!map.empty()) directory.Write("special_tokens_map.json", map);
  const auto tokenizer = ParseTokenizerJson(
      TokenizerJson(R"({"a": 0})", "[]",
                    R"("added_tokens": [{"id": 256, "content": "<b>", "special": true},
                                        {"id": 257, "content": "<e>", "special": true}],
                       "post_processor": )" +
                        post_processor),
      "t");
  if (!tokenizer) return tokenizer.error();
  job::ModelShape model;
  model.bos_token = kModelBos;
  model.eos_token = kModelEos;
  return ReadBoundaryTokens(**tokenizer, model, directory.path());
}

std::vector<int32_t> BosOf(const std::string& post_processor, const std::string& config) {
  const auto boundary = Read(post_processor, config);
  EXPECT_TRUE(boundary.ok()) << boundary.error().message;
  return boundary.ok() ? boundary->bos : std::vector<int32_t>{-1};
}

TEST(BoundaryTokens, ThePostProcessorDecidesFirst) {
  const std::string refuses = R"({"add_bos_token": false})", asks = R"({"add_bos_token": true})";
  EXPECT_THAT(BosOf(kAddsB, ""), ElementsAre(kB));
  EXPECT_THAT(BosOf(kAddsB, refuses), ElementsAre(kB));
  EXPECT_THAT(BosOf(kAddsNothing, asks), IsEmpty());
  EXPECT_THAT(BosOf(kRoberta, refuses), ElementsAre(kB));
  const std::string both =
      R"({"type": "Sequence", "processors": [)" + std::string(kOffsets) + ", " + kAddsB + "]}";
  EXPECT_THAT(BosOf(both, refuses), ElementsAre(kB));
}

TEST(BoundaryTokens, WithoutOneTheConfigurationDecides) {
  for (const char* silent : {kNone, kOffsets}) {
    EXPECT_THAT(BosOf(silent, ""), IsEmpty());
    EXPECT_THAT(BosOf(silent, R"({"tokenizer_class": "PreTrainedTokenizerFast"})"), IsEmpty());
    EXPECT_THAT(BosOf(silent, R"({"add_bos_token": true})"), ElementsAre(kModelBos));
    EXPECT_THAT(BosOf(silent, R"({"add_bos_token": true, "bos_token": "<b>"})"), ElementsAre(kB));
    EXPECT_THAT(BosOf(silent, R"({"add_bos_token": true, "bos_token": {"content": "<b>"}})"),
                ElementsAre(kB));
  }
}

TEST(BoundaryTokens, LlamasTokenizerAddsBosByDefault) {
  EXPECT_THAT(BosOf(kNone, R"({"tokenizer_class": "LlamaTokenizer"})"), ElementsAre(kModelBos));
  EXPECT_THAT(BosOf(kNone, R"({"tokenizer_class": "LlamaTokenizerFast", "bos_token": "<b>"})"),
              ElementsAre(kB));
  EXPECT_THAT(BosOf(kNone, R"({"tokenizer_class": "LlamaTokenizer", "add_bos_token": false})"),
              IsEmpty());
}

TEST(BoundaryTokens, EosIsTheTokenizersElseTheModels) {
  EXPECT_EQ(Read(kAddsB, "")->eos, kModelEos);
  EXPECT_EQ(Read(kNone, R"({"eos_token": "<e>"})")->eos, kE);
  EXPECT_EQ(Read(kNone, R"({"eos_token": {"content": "<e>"}, "add_eos_token": false})")->eos, kE);
  EXPECT_EQ(Read(kNone, R"({"eos_token": "<unheard of>"})")->eos, kModelEos);
}

TEST(BoundaryTokens, TheOlderMapSpeaksWhereTheConfigurationListsNoTokens) {
  const std::string map = R"({"eos_token": {"content": "<e>"}, "bos_token": "<b>"})";
  const auto told = Read(kNone, R"({"add_bos_token": true, "eos_token": "<b>"})", map);
  EXPECT_EQ(told->eos, kE);
  EXPECT_THAT(told->bos, ElementsAre(kB));
  EXPECT_EQ(told->texts.eos, "<e>");
  EXPECT_EQ(Read(kNone, "", map)->eos, kE);
  EXPECT_EQ(Read(kNone, R"({"added_tokens_decoder": {}})", map)->eos, kModelEos);
}

TEST(BoundaryTokens, WhatIsBrokenIsNamed) {
  EXPECT_THAT(Read(kNone, "{").error().message, HasSubstr("tokenizer_config.json: not JSON"));
  EXPECT_THAT(Read(kNone, R"({"add_bos_token": "yes"})").error().message,
              HasSubstr("add_bos_token: \"yes\""));
  EXPECT_THAT(Read(R"({"type": "Magic"})", "").error().message,
              HasSubstr("post_processor.type: \"Magic\": expected TemplateProcessing"));
  EXPECT_THAT(Read(R"({"type": "TemplateProcessing",
                       "single": [{"SpecialToken": {"id": "<b>"}}], "special_tokens": {}})",
                   "")
                  .error()
                  .message,
              HasSubstr("special_tokens.<b>"));
}

}  // namespace
}  // namespace trainctl::data
