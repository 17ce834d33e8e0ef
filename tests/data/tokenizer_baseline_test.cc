// The tokenizers agree, id for id, with Hugging Face tokenizers and SentencePiece
// (tests/baselines/generate_tokenizers.py); with special tokens, with transformers
// (generate_special_tokens.py).
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "common/base/file.h"
#include "tests/checkout.h"
#include "tests/files/scratch_directory.h"
#include "worker/rank/data/boundary_tokens.h"
#include "worker/rank/tokenizer/tokenizer.h"

namespace trainctl::data {
namespace {

constexpr int kShown = 5;
constexpr size_t kMaxBytes = 16 << 20;
const std::string kBaselines = checkout::File("tests/baselines/tokenizers/");

std::vector<std::string> Strings() {
  return nlohmann::json::parse(base::ReadFile(kBaselines + "strings.json", kMaxBytes).value())
      .get<std::vector<std::string>>();
}

std::vector<std::vector<int32_t>> ExpectedIds(const std::string& kind) {
  std::istringstream lines(base::ReadFile(kBaselines + kind + "/ids.txt", kMaxBytes).value());
  std::vector<std::vector<int32_t>> all;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    all.emplace_back(std::istream_iterator<int32_t>(words), std::istream_iterator<int32_t>());
  }
  return all;
}

class TokenizerBaseline : public testing::TestWithParam<const char*> {};

TEST_P(TokenizerBaseline, EveryStringHasTheIdsOfTheOriginal) {
  auto tokenizer = LoadTokenizer(kBaselines + GetParam());
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  const auto strings = Strings();
  const auto expected = ExpectedIds(GetParam());
  ASSERT_GE(strings.size(), 5000u);
  ASSERT_EQ(strings.size(), expected.size());
  int different = 0;
  for (size_t i = 0; i < strings.size(); ++i) {
    const auto ids = (*tokenizer)->Encode(strings[i]);
    different += ids != expected[i];
    if (different <= kShown) {
      EXPECT_EQ(ids, expected[i]) << "string " << i << ": " << nlohmann::json(strings[i]);
    }
  }
  EXPECT_EQ(different, 0);
}

TEST_P(TokenizerBaseline, AWholeTextTellsHowFarItIs) {
  auto tokenizer = LoadTokenizer(kBaselines + GetParam());
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "A row, number " + std::to_string(i) + ".\n";
  std::vector<size_t> told;
  std::vector<int32_t> ids;
  (*tokenizer)->Encode(text, &ids, [&](size_t done_bytes) { told.push_back(done_bytes); });
  EXPECT_EQ(ids, (*tokenizer)->Encode(text));
  EXPECT_GT(told.size(), 1000u);
  EXPECT_TRUE(std::ranges::is_sorted(told));
  EXPECT_LT(told.front(), text.size() / 100);
  EXPECT_EQ(told.back(), text.size());
}

INSTANTIATE_TEST_SUITE_P(Kinds, TokenizerBaseline,
                         testing::Values("gpt2", "smollm", "llama3", "llama", "metaspace",
                                         "sentencepiece", "sentencepiece_nfkc"),
                         [](const auto& kind) { return kind.param; });

// GPT-2's files, with entries behind the vocabulary's own.
void WriteGpt2(const nlohmann::json& a_case, const ScratchDirectory& directory) {
  const std::string folder = kBaselines + "gpt2";
  auto vocabulary =
      nlohmann::json::parse(base::ReadFile(folder + "/vocab.json", kMaxBytes).value());
  for (const std::string entry : a_case["vocabulary"]) {
    const size_t id = vocabulary.size();
    vocabulary[entry] = id;
  }
  directory.Write("vocab.json", vocabulary.dump());
  std::filesystem::copy(folder + "/merges.txt", directory.path());
}

// The kind's files as the case has them, in the directory; of "" the example model's folder.
std::string FolderOf(const nlohmann::json& a_case, const ScratchDirectory& directory) {
  const std::string kind = a_case["kind"];
  if (kind.empty()) return checkout::File("deploy/models/SmolLM2-135M");
  const std::string folder = kBaselines + kind;
  if (const auto& config = a_case["tokenizer_config"]; !config.is_null())
    directory.Write("tokenizer_config.json", config.dump());
  const auto files = a_case.value("files", nlohmann::json::object());
  for (const auto& [name, value] : files.items()) directory.Write(name, value.dump());
  if (kind == "gpt2") {
    WriteGpt2(a_case, directory);
    return directory.path();
  }
  if (kind == "sentencepiece") {
    std::filesystem::copy(folder + "/tokenizer.model", directory.path());
    return directory.path();
  }
  auto tokenizer =
      nlohmann::json::parse(base::ReadFile(folder + "/tokenizer.json", kMaxBytes).value());
  tokenizer["post_processor"] = a_case["post_processor"];
  directory.Write("tokenizer.json", tokenizer.dump());
  return directory.path();
}

nlohmann::json Cases(bool of_the_example) {
  nlohmann::json chosen = nlohmann::json::array();
  for (const auto& a_case : nlohmann::json::parse(
           base::ReadFile(checkout::File("tests/baselines/special_tokens.json"), kMaxBytes)
               .value())) {
    if (a_case["kind"].get<std::string>().empty() == of_the_example) chosen.push_back(a_case);
  }
  return chosen;
}

void ExpectTheIds(const nlohmann::json& a_case, const std::vector<std::string>& strings) {
  const ScratchDirectory directory;
  const std::string folder = FolderOf(a_case, directory);
  const auto tokenizer = LoadTokenizer(folder);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  job::ModelShape model;
  model.bos_token = 1;
  const auto boundary = ReadBoundaryTokens(**tokenizer, model, folder);
  ASSERT_TRUE(boundary.ok()) << boundary.error().message;
  ASSERT_GE(a_case["ids"].size(), 30u);
  for (size_t i = 0; i < a_case["ids"].size(); ++i) {
    const std::string& text = strings.at(a_case["strings"][i]);
    std::vector<int32_t> ids = boundary->bos;
    (*tokenizer)->Encode(text, &ids);
    ASSERT_EQ(nlohmann::json(ids), a_case["ids"][i])
        << a_case["kind"] << " " << a_case.value("post_processor", nlohmann::json())
        << a_case.value("tokenizer_config", nlohmann::json())
        << a_case.value("files", nlohmann::json()) << ": " << nlohmann::json(text);
  }
}

TEST(SpecialTokens, StandWhereTransformersPutsThem) {
  const auto strings = Strings();
  const nlohmann::json cases = Cases(/*of_the_example=*/false);
  ASSERT_GE(cases.size(), 20u);
  for (const auto& a_case : cases) ExpectTheIds(a_case, strings);
}

TEST(SpecialTokens, TheExampleModelsTokenizerIsTransformers) {
  if (!std::filesystem::exists(checkout::File("deploy/models/SmolLM2-135M")))
    GTEST_SKIP() << "no deploy/models/SmolLM2-135M: deploy/example_model makes it";
  const nlohmann::json cases = Cases(/*of_the_example=*/true);
  ASSERT_EQ(cases.size(), 1u);
  ExpectTheIds(cases[0], Strings());
}

}  // namespace
}  // namespace trainctl::data
