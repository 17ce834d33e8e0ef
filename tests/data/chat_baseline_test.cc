// Conversations have the ids and the mask of transformers' apply_chat_template
// (tests/baselines/generate_chat.py).
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/base/file.h"
#include "common/job/data_format.h"
#include "tests/checkout.h"
#include "tests/files/scratch_directory.h"
#include "worker/rank/data/chat_encoder.h"

namespace trainctl::data {
namespace {

using nlohmann::json;

constexpr size_t kMaxBytes = 16 << 20;
const std::string kBaselines = checkout::File("tests/baselines/");

json ReadJson(const std::string& path) {
  return json::parse(base::ReadFile(path, kMaxBytes).value());
}

// The tokenizer of the kind with the form's tokens behind its last.
std::string TokenizerWith(const std::string& kind, const json& added) {
  json tokenizer = ReadJson(kBaselines + "tokenizers/" + kind + "/tokenizer.json");
  int last = 0;
  for (const json& id : tokenizer["model"]["vocab"]) last = std::max(last, id.get<int>());
  for (const json& token : tokenizer["added_tokens"]) last = std::max(last, token["id"].get<int>());
  for (const json& content : added) {
    tokenizer["added_tokens"].push_back(
        {{"id", ++last}, {"content", content}, {"special", true}, {"normalized", false}});
  }
  return tokenizer.dump();
}

std::vector<Message> MessagesOf(const json& test) {
  files::Fault fault;
  return ReadConversation(files::JsonObject(test, "test", &fault), "messages");
}

// "0011" of 4 ids of which the first 2 are ignored.
std::string MaskOf(const MaskedTokens& tokens) {
  std::string mask(tokens.ids.size(), '1');
  for (const TokenSpan& span : tokens.ignored) {
    for (int64_t i = span.begin; i < span.end; ++i) mask[static_cast<size_t>(i)] = '0';
  }
  return mask;
}

class ChatBaseline : public testing::TestWithParam<size_t> {
 protected:
  ChatBaseline() : form_(ReadJson(kBaselines + "chat.json").at(GetParam())) {
    directory_.Write("tokenizer.json", TokenizerWith(form_["kind"], form_["added"]));
    directory_.Write("tokenizer_config.json", json{{"bos_token", form_["bos"]},
                                                   {"eos_token", form_["eos"]},
                                                   {"chat_template", form_["jinja"]}}
                                                  .dump());
    tokenizer_ = LoadTokenizer(directory_.path()).value();
  }

  base::Result<ChatEncoder> Create(std::optional<job::ChatTemplate> named = std::nullopt) {
    job::ModelShape model;
    model.bos_token = model.eos_token = -1;
    const auto boundary = ReadBoundaryTokens(*tokenizer_, model, directory_.path());
    return ChatEncoder::Create({.chat_template = named}, *tokenizer_, boundary.value(),
                               directory_.path());
  }

  ScratchDirectory directory_;
  json form_;
  std::unique_ptr<Tokenizer> tokenizer_;
};

TEST_P(ChatBaseline, EveryConversationHasTransformersIdsAndMask) {
  const auto encoder = Create();
  ASSERT_TRUE(encoder.ok()) << encoder.error().message;
  EXPECT_EQ(job::Name(encoder->form().name), form_["template"].get<std::string>());
  ASSERT_GE(form_["cases"].size(), 6u);
  for (const json& test : form_["cases"]) {
    const auto tokens = encoder->Encode(MessagesOf(test));
    ASSERT_TRUE(tokens.ok()) << tokens.error().message;
    EXPECT_EQ(tokens->ids, test["ids"].get<std::vector<int32_t>>()) << test["messages"];
    EXPECT_EQ(MaskOf(*tokens), test["mask"].get<std::string>()) << test["messages"];
  }
}

TEST_P(ChatBaseline, EveryQuestionHasTransformersIdsUpToItsAnswer) {
  const auto own = Create();
  const auto named = Create(own->form().name);
  ASSERT_GE(form_["questions"].size(), 5u);
  for (const json& test : form_["questions"]) {
    const auto ids = test["ids"].get<std::vector<int32_t>>();
    EXPECT_EQ(own->EncodeQuestion(test["text"]).value(), ids) << test["text"];
    EXPECT_EQ(named->EncodeQuestion(test["text"]).value(), ids) << test["text"];
  }
}

TEST_P(ChatBaseline, AnAnswerEndsWithATokenThatIsTrained) {
  const auto encoder = Create();
  const auto tokens = encoder->Encode(MessagesOf(form_["cases"][0])).value();
  const size_t last = MaskOf(tokens).rfind('1');
  EXPECT_EQ(encoder->end_of_answer(), tokens.ids.at(last));
}

TEST_P(ChatBaseline, NamedItIsTheTokenizersOwnToo) {
  const auto own = Create();
  const auto named = Create(own->form().name);
  ASSERT_TRUE(named.ok()) << named.error().message;
  const auto messages = MessagesOf(form_["cases"][0]);
  EXPECT_EQ(named->Encode(messages)->ids, own->Encode(messages)->ids);
}

INSTANTIATE_TEST_SUITE_P(Forms, ChatBaseline,
                         testing::Range(size_t{0}, ReadJson(kBaselines + "chat.json").size()));

}  // namespace
}  // namespace trainctl::data
