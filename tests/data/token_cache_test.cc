#include "worker/rank/data/token_cache.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "common/base/file.h"
#include "tests/files/scratch_directory.h"

namespace trainctl::data {
namespace {

namespace fs = std::filesystem;

const std::vector<int32_t> kIds = {1, 5, 9, 2, 1, 7, 2};

Tokenized MadeOf(std::vector<Row> rows, std::vector<TokenSpan> ignored) {
  return {TokenStore(kIds), std::move(rows), std::move(ignored)};
}

const Tokenized kMade = MadeOf({{0, 4, 2}, {4, 3, 0}}, {{5, 6}});
constexpr int64_t kTokens = 10;  // of the vocabulary

std::string OnlyFile(const std::string& folder) {
  return fs::directory_iterator(folder)->path().string();
}

TEST(TokenCache, GivesBackWhatWasKeptUnderItsKey) {
  const ScratchDirectory scratch;
  const std::string folder = scratch.path() + "/tokens";
  EXPECT_FALSE(FindCachedTokens(folder, "key", kTokens));
  CacheTokens(folder, "key", kMade);
  const auto cached = FindCachedTokens(folder, "key", kTokens);
  ASSERT_TRUE(cached);
  ASSERT_EQ(cached->tokens.size(), 7);
  for (int64_t i = 0; i < 7; ++i) EXPECT_EQ(cached->tokens[i], kMade.tokens[i]);
  ASSERT_EQ(cached->rows.size(), 2u);
  EXPECT_EQ(cached->rows[1].begin, 4);
  EXPECT_EQ(cached->rows[0].ignored, 2);
  ASSERT_EQ(cached->ignored.size(), 1u);
  EXPECT_EQ(cached->ignored[0].end, 6);
  EXPECT_FALSE(FindCachedTokens(folder, "other", kTokens));
}

TEST(TokenCache, ADamagedOrCutFileIsAMiss) {
  const ScratchDirectory scratch;
  CacheTokens(scratch.path(), "key", kMade);
  const std::string path = OnlyFile(scratch.path());
  const std::string whole = base::ReadFile(path, 1 << 20).value();
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] ^= 1;
    ASSERT_TRUE(base::WriteFileAtomically(path, damaged).ok());
    EXPECT_FALSE(FindCachedTokens(scratch.path(), "key", kTokens)) << i;
    ASSERT_TRUE(base::WriteFileAtomically(path, whole.substr(0, i)).ok());
    EXPECT_FALSE(FindCachedTokens(scratch.path(), "key", kTokens)) << i;
  }
}

TEST(TokenCache, WhatDoesNotFitTheModelIsAMiss) {
  const ScratchDirectory scratch;
  CacheTokens(scratch.path(), "key", kMade);
  EXPECT_FALSE(FindCachedTokens(scratch.path(), "key", 9));
  CacheTokens(scratch.path(), "key", MadeOf({{5, 3, 0}}, {}));
  EXPECT_FALSE(FindCachedTokens(scratch.path(), "key", kTokens));
  for (const std::vector<TokenSpan>& ignored :
       {std::vector<TokenSpan>{{6, 8}}, {{3, 3}}, {{4, 6}, {5, 7}}, {{-1, 2}}}) {
    CacheTokens(scratch.path(), "key", MadeOf(kMade.rows, ignored));
    EXPECT_FALSE(FindCachedTokens(scratch.path(), "key", kTokens));
  }
}

TEST(TokenCache, TheSetsUsedLastStay) {
  const ScratchDirectory scratch;
  for (size_t i = 0; i < kMostCachedSets + 3; ++i)
    CacheTokens(scratch.path(), std::to_string(i), kMade);
  EXPECT_EQ(std::distance(fs::directory_iterator(scratch.path()), fs::directory_iterator()),
            static_cast<ptrdiff_t>(kMostCachedSets));
  EXPECT_TRUE(FindCachedTokens(scratch.path(), std::to_string(kMostCachedSets + 2), kTokens));
  EXPECT_FALSE(FindCachedTokens(scratch.path(), "0", kTokens));
}

TEST(TokenCache, AFolderThatCannotBeMadeIsLeftOut) {
  const ScratchDirectory scratch;
  const std::string file = scratch.Write("file", "");
  CacheTokens(file + "/tokens", "key", kMade);
  EXPECT_FALSE(FindCachedTokens(file + "/tokens", "key", kTokens));
}

}  // namespace
}  // namespace trainctl::data
