// The tokenizers agree, id for id, with Hugging Face tokenizers and SentencePiece
// (tests/baselines/generate_tokenizers.py).
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "common/base/file.h"
#include "tests/checkout.h"
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

INSTANTIATE_TEST_SUITE_P(Kinds, TokenizerBaseline,
                         testing::Values("gpt2", "smollm", "llama3", "llama", "metaspace",
                                         "sentencepiece", "sentencepiece_nfkc"),
                         [](const auto& kind) { return kind.param; });

}  // namespace
}  // namespace trainctl::data
