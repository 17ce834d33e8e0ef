#include "worker/rank/tokenizer/tokenizer_digest.h"

#include <gtest/gtest.h>

#include "tests/data/small_tokenizers.h"

namespace trainctl::data {
namespace {

std::string DigestOfJson(const std::string& json) {
  const auto tokenizer = ParseTokenizerJson(json, "t.json");
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  return DigestOf(**tokenizer);
}

TEST(TokenizerDigest, IsOfTheTokensAndNotOfTheFile) {
  const std::string vocab = R"({"a": 0, "b": 1, "ab": 2, "<unk>": 3})";
  const std::string unknown = R"("unk_token": "<unk>")";
  const std::string digest = DigestOfJson(TokenizerJson(vocab, R"(["a b"])", "", unknown));
  EXPECT_EQ(digest, DigestOfJson("  " + TokenizerJson(vocab, R"([ "a b" ])", "", unknown)));
  EXPECT_NE(digest, DigestOfJson(TokenizerJson(vocab, "[]", "", unknown))) << "without a merge";
  const std::string other = R"({"b": 0, "a": 1, "ab": 2, "<unk>": 3})";
  EXPECT_NE(digest, DigestOfJson(TokenizerJson(other, R"(["a b"])", "", unknown)));
  EXPECT_NE(digest, DigestOfJson(ByteTokenizerJson()));
}

}  // namespace
}  // namespace trainctl::data
