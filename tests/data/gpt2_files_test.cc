// What stands beside vocab.json and merges.txt; that it is read as transformers does is shown by
// tokenizer_baseline_test.cc.
#include "worker/rank/tokenizer/gpt2_files.h"

#include <gmock/gmock.h>

#include "tests/files/scratch_directory.h"
#include "worker/rank/tokenizer/tokenizer.h"

namespace trainctl::data {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kConfig[] = "tokenizer_config.json";

std::vector<std::string> ContentsOf(const std::vector<AddedToken>& tokens) {
  std::vector<std::string> contents;
  for (const AddedToken& token : tokens) contents.push_back(token.content);
  return contents;
}

std::string MessageOf(const std::string& name, const std::string& text) {
  const ScratchDirectory scratch;
  scratch.Write(name, text);
  const auto options = ReadGpt2Options(scratch.path());
  return options.ok() ? "accepted" : options.error().message;
}

TEST(Gpt2Files, AloneTheyHaveTheTokenOfGpt2) {
  const ScratchDirectory scratch;
  const auto options = ReadGpt2Options(scratch.path());
  ASSERT_TRUE(options.ok()) << options.error().message;
  EXPECT_THAT(ContentsOf(options->beside.named), Each("<|endoftext|>"));
  EXPECT_FALSE(options->add_prefix_space);
}

TEST(Gpt2Files, TheTokensBesideThemAreRead) {
  const ScratchDirectory scratch;
  scratch.Write(kConfig, R"({"add_prefix_space": true, "bos_token": "a", "eos_token": "a",
                             "added_tokens_decoder": {"7": {"content": "<b>", "lstrip": true}}})");
  const auto options = ReadGpt2Options(scratch.path());
  ASSERT_TRUE(options.ok()) << options.error().message;
  EXPECT_TRUE(options->add_prefix_space);
  EXPECT_THAT(ContentsOf(options->beside.listed), ElementsAre("<b>"));
  EXPECT_THAT(ContentsOf(options->beside.named), ElementsAre("a", "a", "<|endoftext|>"));
}

bool IsQwen2(const std::string& config, const std::string& model) {
  const ScratchDirectory scratch;
  if (!config.empty()) scratch.Write(kConfig, config);
  if (!model.empty()) scratch.Write("config.json", model);
  const auto options = ReadGpt2Options(scratch.path());
  EXPECT_TRUE(options.ok()) << options.error().message;
  return options.ok() && options->is_qwen2;
}

TEST(Gpt2Files, TheClassSaysWhoseTheyAreElseTheModel) {
  const std::string gpt2 = R"({"tokenizer_class": "GPT2TokenizerFast"})",
                    qwen2 = R"({"tokenizer_class": "Qwen2Tokenizer"})";
  EXPECT_TRUE(IsQwen2(qwen2, R"({"model_type": "opt"})"));
  EXPECT_FALSE(IsQwen2(gpt2, R"({"model_type": "qwen2"})"));
  EXPECT_FALSE(IsQwen2(gpt2, R"({"model_type": "llama"})"));
  for (const char* model : {"qwen2", "qwen3"})
    EXPECT_TRUE(IsQwen2("{}", R"({"model_type": ")" + std::string(model) + R"("})")) << model;
  EXPECT_TRUE(IsQwen2("", R"({"model_type": "qwen3"})"));
  EXPECT_FALSE(IsQwen2("", R"({"model_type": "blip-2"})"));
  EXPECT_FALSE(IsQwen2("", "{}"));
}

TEST(Gpt2Files, ATokenWithoutAnIdHasTheNext) {
  const auto tokenizer = ParseVocabAndMerges(R"({"a": 0, "<": 1, "x": 2, ">": 3})", "", "dir",
                                             {.beside = {.listed = {{.id = 5, .content = "<a>"}},
                                                         .named = {{.id = -1, .content = "<x>"}}}});
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  EXPECT_THAT((*tokenizer)->Encode("<x><a>a"), ElementsAre(6, 5, 0));
}

TEST(Gpt2Files, WhatIsBrokenIsNamed) {
  EXPECT_THAT(MessageOf(kConfig, "{"), HasSubstr(kConfig));
  EXPECT_THAT(MessageOf(kConfig, "[]"), HasSubstr("[]: expected an object"));
  EXPECT_THAT(MessageOf(kConfig, R"({"add_prefix_space": "no"})"),
              HasSubstr("tokenizer_config.json: add_prefix_space: \"no\""));
  EXPECT_THAT(MessageOf(kConfig, R"({"tokenizer_class": "LlamaTokenizer"})"),
              HasSubstr("tokenizer_class: \"LlamaTokenizer\": expected GPT2Tokenizer or "
                        "Qwen2Tokenizer beside"));
  EXPECT_THAT(MessageOf("config.json", R"({"model_type": "mistral"})"),
              AllOf(HasSubstr("config.json: model_type: \"mistral\": expected gpt2, opt"),
                    HasSubstr("make a tokenizer.json")));
}

}  // namespace
}  // namespace trainctl::data
