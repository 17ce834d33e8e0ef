#include <gmock/gmock.h>

#include <algorithm>
#include <span>

#include "tests/data/small_tokenizers.h"
#include "worker/rank/data/batches.h"
#include "worker/rank/data/dataset.h"
#include "worker/rank/data/inspect.h"

namespace trainctl::data {
namespace {

using testing::HasSubstr;

// Conversations beside a model whose tokens are the text's bytes, and <s>, </s>: 257, 258.
class ChatDatasetTest : public testing::Test {
 protected:
  ChatDatasetTest() : model_(WriteByteModel(directory_)) {
    std::string tokenizer = ByteTokenizerJson();
    const std::string first = R"("added_tokens": [)";
    tokenizer.insert(tokenizer.find(first) + first.size(),
                     R"({"id": 257, "content": "<s>", "special": true},
                        {"id": 258, "content": "</s>", "special": true}, )");
    directory_.Write("tokenizer.json", tokenizer);
    WriteConfig("null");
    data_.format = job::DataFormat::kChat;
    data_.chat_template = job::ChatTemplate::kMistral;
    data_.mask_prompt = true;
  }

  void WriteConfig(const std::string& chat_template) {
    directory_.Write(
        "tokenizer_config.json",
        R"({"bos_token": "<s>", "eos_token": "</s>", "chat_template": )" + chat_template + "}");
  }
  base::Result<Dataset> Load(const std::string& content, int64_t max_seq_length = 1000) {
    data_.path = directory_.Write("data.json", content);
    return LoadDataset(data_, model_, directory_.path(), max_seq_length, cache_);
  }
  std::string MessageOf(const std::string& content) {
    auto dataset = Load(content);
    return dataset.ok() ? "accepted" : dataset.error().message;
  }
  // What position t of the row predicts; "." where that does not count.
  static std::string Labels(const Dataset& dataset, int64_t row) {
    const Batch batch = MakeBatch(dataset, std::vector{row});
    std::string text;
    for (const int64_t target : std::span(batch.targets).first(batch.longest_row))
      text += target == kIgnored ? "." : target == 258 ? "$" : std::string(1, char(target));
    EXPECT_EQ(std::ranges::count_if(batch.targets, [](int64_t t) { return t != kIgnored; }),
              batch.trained_tokens);
    return text;
  }

  ScratchDirectory directory_;
  job::ModelShape model_;
  job::DataSpec data_;
  std::string cache_;
};

constexpr char kTwoAnswers[] = R"([{"messages": [
    {"role": "user", "content": "a"}, {"role": "assistant", "content": "Yes"},
    {"role": "user", "content": "b"}, {"role": "assistant", "content": "No"}]}])";

// The 17 tokens before the first answer predict 16 that do not count, as the 16 before the second.
const std::string kDots(16, '.');

TEST_F(ChatDatasetTest, OnlyWhatTheAssistantSaysCounts) {
  const auto dataset = Load(kTwoAnswers);
  ASSERT_TRUE(dataset.ok()) << dataset.error().message;
  // <s>[INST] a[/INST] Yes</s>[INST] b[/INST] No</s>
  EXPECT_EQ(Labels(*dataset, 0), kDots + "Yes$" + kDots + "No$.");
  EXPECT_EQ(dataset->rows[0].ignored, 17);
  EXPECT_EQ(TrainedTokens(*dataset, std::vector<int64_t>{0, 0}), 14);
}

TEST_F(ChatDatasetTest, UnmaskedAllCounts) {
  data_.mask_prompt = false;
  const auto dataset = Load(kTwoAnswers);
  EXPECT_EQ(Labels(*dataset, 0), "[INST] a[/INST] Yes$[INST] b[/INST] No$.");
}

TEST_F(ChatDatasetTest, TheMaskIsCutWithItsRow) {
  EXPECT_EQ(Labels(*Load(kTwoAnswers, 38), 0), kDots + "Yes$" + kDots + "N.");
  EXPECT_EQ(Labels(*Load(kTwoAnswers, 28), 0), kDots + "Yes$........");
  EXPECT_EQ(Labels(*Load(kTwoAnswers, 18), 0), kDots + "Y.");
}

TEST_F(ChatDatasetTest, FromTheCacheTheMaskIsTheSame) {
  cache_ = directory_.path() + "/cache";
  const std::string made = Labels(*Load(kTwoAnswers), 0);
  EXPECT_EQ(Labels(*Load(kTwoAnswers), 0), made);
  data_.mask_prompt = false;
  EXPECT_NE(Labels(*Load(kTwoAnswers), 0), made);
}

TEST_F(ChatDatasetTest, ShareGptRowsAreTheSame) {
  const std::string turns = R"({"conversations": [
      {"from": "human", "value": "a"}, {"from": "gpt", "value": "Yes"},
      {"from": "human", "value": "b"}, {"from": "gpt", "value": "No"}], "id": "x"})";
  EXPECT_EQ(Labels(*Load("[" + turns + "]"), 0), Labels(*Load(kTwoAnswers), 0));
}

TEST_F(ChatDatasetTest, AConversationOfTheTemplateAlpacaIsAnAlpacaRow) {
  data_.chat_template = job::ChatTemplate::kAlpaca;
  const auto chat = Load(R"([{"messages": [{"role": "user", "content": "Go"},
                                           {"role": "assistant", "content": "ok"}]}])");
  const std::string labels = Labels(*chat, 0);
  data_.format = job::DataFormat::kAlpaca;
  EXPECT_EQ(Labels(*Load(R"([{"instruction": "Go", "output": "ok"}])"), 0), labels);
}

TEST_F(ChatDatasetTest, WithoutANameTheTokenizersOwnTemplateIsUsed) {
  data_.chat_template.reset();
  EXPECT_THAT(MessageOf(kTwoAnswers),
              HasSubstr("data.template: null, but the tokenizer in '" + directory_.path() +
                        "' has no chat_template; name one: mistral, zephyr, alpaca"));
  WriteConfig(R"("{{ something_else }}")");
  EXPECT_THAT(MessageOf(kTwoAnswers), HasSubstr("that is none of the built-in ones; name one"));
  WriteConfig(R"("{% for message in messages %}{% if message['role'] == 'user' %})"
              R"({{ '[INST]' + message['content'] + '[/INST]' }}{% else %})"
              R"({{ message['content'] + eos_token }}{% endif %}{% endfor %}")");
  EXPECT_EQ(Labels(*Load(kTwoAnswers), 0), ".............Yes$..............No$.");
}

TEST_F(ChatDatasetTest, AnInspectionTellsWhatTheTemplateWritesThatIsNotExpected) {
  std::string tokenizer = ByteTokenizerJson();
  const std::string first = R"("added_tokens": [)";
  int id = 257;
  for (const std::string special :
       {"<s>", "</s>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"}) {
    tokenizer.insert(tokenizer.find(first) + first.size(), R"({"id": )" + std::to_string(id++) +
                                                               R"(, "content": ")" + special +
                                                               R"(", "special": true}, )");
  }
  directory_.Write("tokenizer.json", tokenizer);
  directory_.Write("chat_template.jinja",
                   R"({{- bos_token }}{%- set date_string = "26 Jul 2024" %})"
                   R"({{- "Cutting Knowledge Date: December 2023\n" }})"
                   R"({{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n' )"
                   R"(+ message['content'] | trim + '<|eot_id|>' }})");
  data_.chat_template.reset();
  data_.path = directory_.Write("data.json", kTwoAnswers);
  job::JobSpec job{.data = data_};
  job.model.path = directory_.path();
  const auto inspection = Inspect(job);
  ASSERT_TRUE(inspection.ok()) << inspection.error().message;
  EXPECT_THAT(inspection->first_row->pieces[0].text, HasSubstr("Today Date: 26 Jul 2024\n"));
  EXPECT_THAT(inspection->first_row->note, HasSubstr("'Today Date: 26 Jul 2024' in each row"));
  job.data.chat_template = job::ChatTemplate::kZephyr;
  EXPECT_EQ(Inspect(job)->first_row->note, "");
  job.data.chat_template = job::ChatTemplate::kMistral;
  EXPECT_THAT(Inspect(job)->first_row->note,
              HasSubstr("transformers leaves it out where an answer stands last"));
}

TEST_F(ChatDatasetTest, ATemplateOfTokensThatTheTokenizerLacksIsRefused) {
  data_.chat_template = job::ChatTemplate::kChatml;
  EXPECT_EQ(MessageOf(kTwoAnswers),
            "data.template chatml needs the token '<|im_start|>', which the tokenizer in '" +
                directory_.path() + "' does not have; name one: mistral, zephyr, alpaca");
}

TEST_F(ChatDatasetTest, ANameThatAddsASystemTurnSaysSo) {
  std::string tokenizer = ByteTokenizerJson();
  const std::string first = R"("added_tokens": [)";
  tokenizer.insert(tokenizer.find(first) + first.size(),
                   R"({"id": 257, "content": "<|im_start|>", "special": true},
                      {"id": 258, "content": "<|im_end|>", "special": true}, )");
  directory_.Write("tokenizer.json", tokenizer);
  directory_.Write("tokenizer_config.json", "{}");
  data_.chat_template.reset();
  EXPECT_THAT(MessageOf(kTwoAnswers),
              HasSubstr("name one: chatml, qwen (adds Qwen 2.5's default system turn)"));
}

TEST_F(ChatDatasetTest, MalformedRowsAreNamedByFileRowAndKey) {
  const std::string file = directory_.path() + "/data.json: ";
  struct Case {
    std::string turns, message;
  };
  const Case cases[] = {
      {R"({"text": "a"})", "[0].messages: missing: expected a list of turns"},
      {R"({"messages": "a"})", R"([0].messages: "a": expected a list)"},
      {R"({"messages": []})", "[0].messages: []: expected at least one turn"},
      {R"({"messages": [7]})", "[0].messages[0]: 7: expected an object"},
      {R"({"messages": [{"content": "a"}]})", "[0].messages[0].role: missing: expected a string"},
      {R"({"messages": [{"role": "tool", "content": "a"}]})",
       R"([0].messages[0].role: "tool": expected system, user or assistant)"},
      {R"({"messages": [{"role": "user", "content": ["a"]}]})",
       R"([0].messages[0].content: ["a"]: expected a string)"},
      {R"({"messages": [{"role": "assistant", "content": "", "tool_calls": [{"id": 1}]}]})",
       R"([0].messages[0].tool_calls: [{"id":1}]: expected none: calls of tools are not yet )"
       "supported"},
      {R"({"messages": [{"role": "user", "content": "a"},
                        {"role": "assistant", "content": "b", "reasoning_content": "c"}]})",
       "[0]: messages[1]: reasoning_content: expected none, since the template mistral of this "
       "model writes no thoughts"},
      {R"({"messages": [{"role": "user", "content": "a", "reasoning_content": ["c"]}]})",
       R"([0].messages[0].reasoning_content: ["c"]: expected a string)"},
      {R"({"conversations": [{"from": "bing", "value": "a"}]})",
       R"([0].conversations[0].from: "bing": expected system, human or gpt)"},
      {R"({"conversations": [{"from": "gpt"}]})",
       "[0].conversations[0].value: missing: expected a string"},
      {R"({"messages": [{"role": "system", "content": "a"}, {"role": "system", "content": "b"}]})",
       "[0].messages[1]: a system turn, expected as the first of its conversation only"},
      {R"({"messages": [{"role": "assistant", "content": "a"}]})",
       "[0]: messages[0]: expected the user's turn: they alternate in the template mistral, the "
       "user first"},
  };
  for (const Case& c : cases) EXPECT_EQ(MessageOf("[" + c.turns + "]"), file + c.message);
}

TEST_F(ChatDatasetTest, ATurnWithoutThoughtsMayHaveTheKeyForThem) {
  for (const char* thoughts : {"null", R"("")"}) {
    EXPECT_EQ(MessageOf(R"([{"messages": [{"role": "user", "content": "a"},
                                          {"role": "assistant", "content": "b",
                                           "reasoning_content": )" +
                        std::string(thoughts) + "}]}]"),
              "accepted")
        << thoughts;
  }
}

TEST_F(ChatDatasetTest, ATurnThatCallsNoToolMayHaveTheKeyForIt) {
  for (const char* calls : {"null", "[]", R"("")", R"({"name": null, "arguments": ""})"}) {
    EXPECT_EQ(MessageOf(R"([{"messages": [{"role": "user", "content": "a"},
                                          {"role": "assistant", "content": "b",
                                           "function_call": )" +
                        std::string(calls) + "}]}]"),
              "accepted")
        << calls;
  }
}

TEST_F(ChatDatasetTest, ConversationsWithoutAnAnswerTrainNothing) {
  EXPECT_THAT(MessageOf(R"([{"messages": [{"role": "user", "content": "a"}]}])"),
              HasSubstr("no row has a token that counts in the loss; what the assistant did not "
                        "say, which data.mask_prompt leaves out, fills train.max_seq_length"));
}

}  // namespace
}  // namespace trainctl::data
