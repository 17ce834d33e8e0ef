#include "worker/rank/files/generation_config.h"

#include <gmock/gmock.h>

#include "tests/files/scratch_directory.h"

namespace trainctl::files {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class GenerationConfigTest : public ::testing::Test {
 protected:
  base::Result<GenerationConfig> Read() const {
    return ReadGenerationConfig(directory_.path(), {.vocab = 300});
  }

  // What is not followed of it.
  std::vector<std::string> Unfollowed(const std::string& settings) const {
    directory_.Write("generation_config.json", settings);
    const auto read = Read();
    return read ? read->unfollowed : std::vector<std::string>{read.error().message};
  }

  const ScratchDirectory directory_;
};

TEST_F(GenerationConfigTest, WithoutFilesItSaysNothing) {
  const auto none = Read();
  ASSERT_TRUE(none.ok()) << none.error().message;
  EXPECT_THAT(none->stops, IsEmpty());
  EXPECT_EQ(none->repetition_penalty, 1);
  EXPECT_EQ(none->file, "");
}

TEST_F(GenerationConfigTest, TheModelsConfigurationSpeaksWhereThereIsNoOther) {
  directory_.Write("config.json", R"({"eos_token_id": 7, "repetition_penalty": 1.1})");
  EXPECT_THAT(Read()->stops, ElementsAre(7));
  EXPECT_EQ(Read()->repetition_penalty, 1.1);
  EXPECT_EQ(Read()->file, "config.json");
  directory_.Write("generation_config.json", R"({"repetition_penalty": 1.05})");
  EXPECT_EQ(Read()->repetition_penalty, 1.05);
  EXPECT_THAT(Read()->stops, ElementsAre(7));
  directory_.Write("generation_config.json", R"({"eos_token_id": [8, 9]})");
  EXPECT_EQ(Read()->repetition_penalty, 1);
  EXPECT_THAT(Read()->stops, ElementsAre(8, 9));
}

TEST_F(GenerationConfigTest, WhatChangesTheLikeliestTextAndIsNotFollowedIsNamed) {
  EXPECT_THAT(Unfollowed(R"({"no_repeat_ngram_size": 3, "suppress_tokens": [1, 2],
                             "num_beams": 4, "forced_bos_token_id": 0})"),
              ElementsAre("forced_bos_token_id 0", "no_repeat_ngram_size 3", "num_beams 4",
                          "suppress_tokens [1,2]"));
  EXPECT_THAT(Unfollowed(R"({"bad_words_ids": [[100], [101], [102], [103], [104], [105], [106]]})"),
              ElementsAre("bad_words_ids"));
}

TEST_F(GenerationConfigTest, WhatIsAtItsDefaultOrOfDrawnTextsAloneIsNot) {
  EXPECT_THAT(Unfollowed(R"({"no_repeat_ngram_size": 0, "suppress_tokens": [], "num_beams": 1,
                             "bad_words_ids": null, "guidance_scale": 1.0, "min_length": 0,
                             "token_healing": false, "encoder_repetition_penalty": 1.0,
                             "do_sample": true, "temperature": 0.7, "top_k": 20, "top_p": 0.8})"),
              IsEmpty());
}

TEST_F(GenerationConfigTest, WhichTokensMayBeDrawnIsRead) {
  directory_.Write("generation_config.json", R"({"top_k": 20, "top_p": 0.8})");
  EXPECT_EQ(Read()->top_k, 20);
  EXPECT_EQ(Read()->top_p, 0.8);
  directory_.Write("generation_config.json", R"({"top_k": null, "top_p": 1.5})");
  EXPECT_EQ(Read()->top_k, 0);
  EXPECT_EQ(Read()->top_p, 1);
  for (const char* key : {"top_k", "top_p"}) {
    directory_.Write("generation_config.json", R"({")" + std::string(key) + R"(": -1})");
    EXPECT_THAT(Read().error().message, HasSubstr(key));
  }
}

TEST_F(GenerationConfigTest, WhatIsNotFollowedWhereTokensAreDrawnIsNamedApart) {
  directory_.Write("generation_config.json", R"({"min_p": 0.05, "typical_p": 1.0})");
  EXPECT_THAT(Read()->unfollowed, IsEmpty());
  EXPECT_THAT(Read()->unfollowed_if_drawn, ElementsAre("min_p 0.05"));
}

TEST_F(GenerationConfigTest, APenaltyIsAPositiveNumber) {
  for (const char* wrong : {"0", "-1", "\"1\"", "[1]"}) {
    directory_.Write("generation_config.json",
                     R"({"repetition_penalty": )" + std::string(wrong) + "}");
    EXPECT_THAT(Read().error().message, HasSubstr("repetition_penalty")) << wrong;
  }
}

}  // namespace
}  // namespace trainctl::files
