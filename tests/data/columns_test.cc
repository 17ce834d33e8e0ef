#include <gmock/gmock.h>

#include "tests/data/small_tokenizers.h"
#include "worker/rank/data/dataset.h"
#include "worker/rank/data/prompt.h"

namespace trainctl::data {
namespace {

using testing::HasSubstr;

// Data beside a model whose tokens are the text's bytes.
class ColumnsTest : public testing::Test {
 protected:
  ColumnsTest() : model_(WriteByteModel(directory_)) {}

  base::Result<Dataset> Load(const std::string& content) {
    data_.path = directory_.Write("data", content);
    return LoadDataset(data_, model_, directory_.path(), 1000, cache_);
  }
  std::string TextOf(const std::string& content) {
    const auto dataset = Load(content);
    if (!dataset) return dataset.error().message;
    std::string text;
    for (int64_t i = 0; i < dataset->rows[0].length; ++i)
      text += static_cast<char>(dataset->tokens[i]);
    return text;
  }

  const std::string bos_ = "\xFE", eos_ = "\xFF";
  ScratchDirectory directory_;
  job::ModelShape model_;
  job::DataSpec data_;
  std::string cache_;
};

TEST_F(ColumnsTest, ACompletionFollowsItsPromptAndAloneCounts) {
  data_.format = job::DataFormat::kCompletion;
  data_.mask_prompt = true;
  const std::string row = R"({"prompt": "2 + 2 =", "completion": " 4"})";
  EXPECT_EQ(TextOf(row), bos_ + "2 + 2 = 4" + eos_);
  EXPECT_EQ(Load(row)->rows[0].ignored, 8);
  data_.mask_prompt = false;
  EXPECT_EQ(Load(row)->rows[0].ignored, 0);
}

// The words of the tokenizer are "a", "b", and "ab" once they meet.
TEST_F(ColumnsTest, ATokenAcrossTheSeamIsTheCompletions) {
  directory_.Write("tokenizer.json",
                   TokenizerJson(R"({"a": 0, "b": 1, "ab": 2, "ba": 3})", R"(["a b", "b a"])"));
  data_.format = job::DataFormat::kCompletion;
  data_.mask_prompt = true;
  const auto dataset = Load(R"({"prompt": "aa", "completion": "ba"})");
  ASSERT_TRUE(dataset.ok()) << dataset.error().message;
  ASSERT_EQ(dataset->rows[0].length, 5);  // bos a ab a eos
  EXPECT_EQ(dataset->tokens[2], 2);
  EXPECT_EQ(dataset->rows[0].ignored, 2);
}

TEST_F(ColumnsTest, AFileMayNameItsColumnsOtherwise) {
  data_.columns = {{"instruction", "question"}, {"input", "context"}, {"output", "answer"}};
  EXPECT_EQ(TextOf(R"({"question": "Add.", "context": "1 2", "answer": "3", "output": "no"})"),
            bos_ + AlpacaPrompt("Add.", "1 2") + "3" + eos_);
  data_.format = job::DataFormat::kCompletion;
  data_.columns = {{"completion", "answer"}};
  EXPECT_EQ(TextOf(R"({"prompt": "a", "answer": "b"})"), bos_ + "ab" + eos_);
  data_.format = job::DataFormat::kText;
  data_.columns = {{"text", "caption"}};
  EXPECT_EQ(TextOf(R"({"caption": "a cat", "text": "no"})"), bos_ + "a cat" + eos_);
  EXPECT_THAT(TextOf(R"({"text": "a cat"})"), HasSubstr("caption: missing: expected a string"));
}

TEST_F(ColumnsTest, ConversationsMayHaveAnotherNameToo) {
  data_.format = job::DataFormat::kChat;
  data_.chat_template = job::ChatTemplate::kAlpaca;
  directory_.Write("tokenizer_config.json", R"({"eos_token": "<|end|>"})");
  const std::string turns = R"([{"role": "user", "content": "a"}])";
  data_.columns = {{"messages", "dialog"}};
  EXPECT_EQ(Load(R"({"messages": 7, "dialog": )" + turns + "}").ok(), true);
  EXPECT_THAT(TextOf(R"({"messages": )" + turns + "}"), HasSubstr("dialog: missing"));
}

TEST_F(ColumnsTest, OtherColumnsAreOtherTokensInTheCache) {
  cache_ = directory_.path() + "/cache";
  data_.format = job::DataFormat::kText;
  const std::string row = R"({"text": "one", "caption": "two"})";
  EXPECT_EQ(TextOf(row), bos_ + "one" + eos_);
  data_.columns = {{"text", "caption"}};
  EXPECT_EQ(TextOf(row), bos_ + "two" + eos_);
}

}  // namespace
}  // namespace trainctl::data
