// What stands beside vocab.json and merges.txt; that it is read as transformers does is shown by
// tokenizer_baseline_test.cc.
#include "worker/rank/tokenizer/gpt2_files.h"

#include <gmock/gmock.h>

#include "tests/files/scratch_directory.h"
#include "worker/rank/tokenizer/tokenizer.h"

namespace trainctl::data {
namespace {

using testing::AllOf;
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
  EXPECT_THAT(ContentsOf(options->tokens), ElementsAre("<|endoftext|>"));
  EXPECT_FALSE(options->add_prefix_space);
}

TEST(Gpt2Files, TheConfigurationSpeaksBeforeTheMap) {
  const ScratchDirectory scratch;
  scratch.Write(kConfig, R"({"add_prefix_space": true, "bos_token": "</s>", "eos_token": "</s>",
                             "unk_token": {"content": "<unk>", "rstrip": true}})");
  scratch.Write("special_tokens_map.json", R"({"bos_token": "<other>", "pad_token": "<pad>"})");
  const auto options = ReadGpt2Options(scratch.path());
  ASSERT_TRUE(options.ok()) << options.error().message;
  EXPECT_TRUE(options->add_prefix_space);
  ASSERT_THAT(ContentsOf(options->tokens), ElementsAre("</s>", "<unk>", "<pad>"));
  EXPECT_TRUE(options->tokens[1].rstrip);
  EXPECT_EQ(options->tokens[1].id, -1);
}

TEST(Gpt2Files, IdsOfAddedTokensAreRead) {
  const ScratchDirectory scratch;
  scratch.Write(kConfig, R"({"bos_token": "a", "eos_token": "a", "unk_token": "a",
                             "added_tokens_decoder": {"7": {"content": "<b>", "lstrip": true}}})");
  scratch.Write("added_tokens.json", R"({"<image>": 9})");
  const auto options = ReadGpt2Options(scratch.path());
  ASSERT_TRUE(options.ok()) << options.error().message;
  ASSERT_THAT(ContentsOf(options->tokens), ElementsAre("a", "<b>", "<image>"));
  EXPECT_EQ(options->tokens[1].id, 7);
  EXPECT_TRUE(options->tokens[1].lstrip);
  EXPECT_EQ(options->tokens[2].id, 9);
}

TEST(Gpt2Files, ATokenThatARoleNamesHasTheIdThatIsToldLater) {
  const ScratchDirectory scratch;
  scratch.Write(kConfig, R"({"eos_token": "<e>", "added_tokens_decoder": {"7": {"content": "<e>"}},
                             "pad_token": "<p>"})");
  scratch.Write("added_tokens.json", R"({"<p>": 9})");
  const auto options = ReadGpt2Options(scratch.path());
  ASSERT_TRUE(options.ok()) << options.error().message;
  ASSERT_THAT(ContentsOf(options->tokens), ElementsAre("<e>", "<p>", "<|endoftext|>"));
  EXPECT_EQ(options->tokens[0].id, 7);
  EXPECT_EQ(options->tokens[1].id, 9);
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

TEST(Gpt2Files, ATokenWithoutAnIdIsLeftOut) {
  const auto tokenizer =
      ParseVocabAndMerges(R"({"a": 0, "<": 1, "x": 2, ">": 3})", "", "dir",
                          {.tokens = {{.id = -1, .content = "<x>"}, {.id = 5, .content = "<a>"}}});
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  EXPECT_THAT((*tokenizer)->Encode("<x><a>"), ElementsAre(1, 2, 3, 5));
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
  EXPECT_THAT(MessageOf(kConfig, R"({"bos_token": 3})"), HasSubstr("bos_token: 3"));
  EXPECT_THAT(MessageOf(kConfig, R"({"bos_token": {"lstrip": true}})"),
              HasSubstr("bos_token.content: missing"));
  EXPECT_THAT(MessageOf(kConfig, R"({"added_tokens_decoder": []})"),
              HasSubstr("added_tokens_decoder"));
  for (const char* id : {"x", "", "-1", "99999999", "4194304"}) {
    const std::string decoder =
        R"({"added_tokens_decoder": {")" + std::string(id) + R"(": {"content": "a"}}})";
    EXPECT_THAT(MessageOf(kConfig, decoder), HasSubstr("expected the key of an id")) << id;
  }
  EXPECT_THAT(MessageOf("special_tokens_map.json", R"({"pad_token": []})"),
              AllOf(HasSubstr("special_tokens_map.json: "), HasSubstr("pad_token")));
  EXPECT_THAT(MessageOf("added_tokens.json", R"({"a": -1})"),
              HasSubstr("added_tokens.json: a: -1"));
  EXPECT_THAT(MessageOf("added_tokens.json", R"({"a": "b"})"), HasSubstr("a: \"b\""));
}

}  // namespace
}  // namespace trainctl::data
