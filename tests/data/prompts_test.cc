#include "worker/rank/data/prompts.h"

#include <gmock/gmock.h>

#include "tests/data/small_tokenizers.h"

namespace trainctl::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int32_t kEnd = 256;

class PromptsTest : public ::testing::Test {
 protected:
  PromptsTest() : model_(WriteByteModel(directory_)) { model_.max_positions = 64; }

  base::Result<Prompts> Read(std::vector<std::string> texts) {
    job_.eval.prompts = std::move(texts);
    return ReadPrompts(job_, model_, directory_.path());
  }

  const ScratchDirectory directory_;
  job::ModelShape model_;
  job::JobSpec job_;
};

TEST_F(PromptsTest, BosStandsBeforeThemAsBeforeRows) {
  EXPECT_THAT(Read({"ab", ""})->ids, ElementsAre(ElementsAre(254, 'a', 'b'), ElementsAre(254)));
  EXPECT_EQ(Read({"ab", ""})->longest(), 3);
  directory_.Write("tokenizer_config.json", R"({"add_bos_token": false})");
  EXPECT_THAT(Read({"ab", "c"})->ids, ElementsAre(ElementsAre('a', 'b'), ElementsAre('c')));
}

TEST_F(PromptsTest, TheEosTokensThatTheModelNamesEndATextElseTheOneOfRows) {
  directory_.Write("tokenizer_config.json", R"({"eos_token": "<|end|>"})");
  EXPECT_THAT(Read({"a"})->generation.stops, ElementsAre(255));
  directory_.Write("config.json", "{}");
  EXPECT_THAT(Read({"a"})->generation.stops, ElementsAre(kEnd));
  directory_.Write("generation_config.json", R"({"eos_token_id": [7, 8]})");
  EXPECT_THAT(Read({"a"})->generation.stops, ElementsAre(7, 8));
  directory_.Write("generation_config.json", R"({"eos_token_id": [7, 300]})");
  EXPECT_THAT(Read({"a"}).error().message, HasSubstr("eos_token_id"));
}

TEST_F(PromptsTest, OfChatDataAPromptIsAUsersTurnThatAnAnswerFollows) {
  job_.data.format = job::DataFormat::kChat;
  job_.data.chat_template = job::ChatTemplate::kAlpaca;
  directory_.Write("tokenizer_config.json", R"({"bos_token": "<|end|>", "eos_token": "<|end|>"})");
  model_.max_positions = 1024;
  const auto turns = Read({"ab"});
  ASSERT_TRUE(turns.ok()) << turns.error().message;
  const std::vector<int32_t>& ids = turns->ids[0];
  EXPECT_THAT(std::string(ids.begin(), ids.end()),
              testing::EndsWith("### Instruction:\nab\n\n### Response:\n"));
  job_.eval.raw_prompts = true;
  EXPECT_THAT(Read({"ab"})->ids, ElementsAre(ElementsAre('a', 'b')));
}

TEST_F(PromptsTest, TheTokenThatEndsAnAnswerEndsAText) {
  job_.data.format = job::DataFormat::kChat;
  directory_.Write("tokenizer_config.json", R"({"eos_token": "<|end|>"})");
  job_.data.chat_template = job::ChatTemplate::kZephyr;
  EXPECT_THAT(Read({"a"})->generation.stops, ElementsAre(255, kEnd));
  job_.data.chat_template.reset();
  EXPECT_THAT(Read({"a"}).error().message,
              testing::StartsWith("eval.prompts: data.template: null, but the tokenizer"));
}

TEST_F(PromptsTest, AMistakeNamesThePromptOrAllOfThem) {
  directory_.Write("tokenizer_config.json", R"({"add_bos_token": false})");
  EXPECT_THAT(Read({"a", ""}).error().message,
              HasSubstr("eval.prompts[1]: no token: expected a text to go on from"));
  EXPECT_THAT(Read({std::string(64, 'x')}).error().message,
              HasSubstr("eval.prompts[0]: 64 tokens: expected fewer than config.json's "
                        "max_position_embeddings, 64"));
  model_.vocab = kEnd;
  EXPECT_THAT(Read({"a", "<|end|>"}).error().message, HasSubstr("eval.prompts[1]: token 256"));
  const ScratchDirectory empty;
  job_.eval.prompts = {"a"};
  EXPECT_THAT(ReadPrompts(job_, model_, empty.path()).error().message,
              testing::StartsWith("eval.prompts: "));
}

TEST_F(PromptsTest, WithoutPromptsNothingIsRead) {
  const ScratchDirectory empty;
  const auto prompts = ReadPrompts(job_, model_, empty.path());
  ASSERT_TRUE(prompts.ok());
  EXPECT_TRUE(prompts->empty());
}

TEST_F(PromptsTest, TheAddedTextIsWithoutSpecialTokensAndCutBetweenCharacters) {
  const auto prompts = Read({"ab"});
  const auto added = [&](std::vector<int32_t> ids, size_t most = 100) {
    return AddedText(*prompts->tokenizer, prompts->ids[0], ids, most);
  };
  EXPECT_EQ(added({' ', 'c', kEnd, 'd'}), " cd");
  EXPECT_EQ(added({0xC3, 0xA4}), "\u00e4");
  EXPECT_EQ(added({0xC3}), "\uFFFD") << "the rest of the character is not there";
  EXPECT_EQ(added({'x', 0xC3, 0xA4, 'y'}, 2), "x");
}

}  // namespace
}  // namespace trainctl::data
