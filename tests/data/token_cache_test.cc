#include "worker/rank/data/token_cache.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <utility>

#include "common/base/file.h"
#include "tests/files/scratch_directory.h"

namespace trainctl::data {
namespace {

namespace fs = std::filesystem;

const std::vector<int32_t> kIds = {1, 5, 9, 2, 1, 7, 2};

Tokenized MadeOf(std::vector<Row> rows, std::vector<TokenSpan> ignored) {
  return {TokenStore(kIds), std::move(rows), std::move(ignored)};
}

Tokenized Made() { return MadeOf({{0, 4, 2}, {4, 3, 0}}, {{5, 6}}); }

void Keep(const std::string& folder, const std::string& key, Tokenized made = Made()) {
  CacheTokens(folder, key, &made);
}

constexpr int64_t kTokens = 10;  // of the vocabulary

std::string OnlyFile(const std::string& folder) {
  return fs::directory_iterator(folder)->path().string();
}

TEST(TokenCache, GivesBackWhatWasKeptUnderItsKey) {
  const ScratchDirectory scratch;
  const std::string folder = scratch.path() + "/tokens";
  EXPECT_FALSE(FindCachedTokens(folder, "key", kTokens));
  Keep(folder, "key");
  const auto cached = FindCachedTokens(folder, "key", kTokens);
  ASSERT_TRUE(cached);
  ASSERT_EQ(cached->tokens.size(), 7);
  for (int64_t i = 0; i < 7; ++i) EXPECT_EQ(cached->tokens[i], kIds[static_cast<size_t>(i)]);
  ASSERT_EQ(cached->rows.size(), 2u);
  EXPECT_EQ(cached->rows[1].begin, 4);
  EXPECT_EQ(cached->rows[0].ignored, 2);
  ASSERT_EQ(cached->ignored.size(), 1u);
  EXPECT_EQ(cached->ignored[0].end, 6);
  EXPECT_FALSE(FindCachedTokens(folder, "other", kTokens));
}

Tokenized WithPictures() {
  Tokenized made = Made();
  PictureListSpool pictures;
  EXPECT_TRUE(pictures.Append({.path = "/a/b.png"}).ok());
  EXPECT_TRUE(pictures.Append({.path = "/c", .begin = 7, .bytes = 9, .name = "d.png"}).ok());
  made.pictures = pictures.Take().value();
  return made;
}

TEST(TokenCache, GivesBackWhereThePicturesLie) {
  const ScratchDirectory scratch;
  Keep(scratch.path(), "key", WithPictures());
  const auto cached = FindCachedTokens(scratch.path(), "key", kTokens);
  ASSERT_TRUE(cached);
  ASSERT_EQ(cached->pictures.size(), 2);
  EXPECT_EQ(cached->pictures[0], (images::PictureFile{.path = "/a/b.png"}));
  EXPECT_EQ(cached->pictures[1], (images::PictureFile{"/c", 7, 9, "d.png"}));
}

// Two rows, whose pictures are bytes in a spool of the folder.
Tokenized WithSpooledPictures(const std::string& folder) {
  Tokenized made = Made();
  auto spool = std::make_shared<PictureSpool>(folder);
  PictureListSpool pictures;
  EXPECT_TRUE(pictures.Append(spool->Append("first", "a.png").value()).ok());
  EXPECT_TRUE(pictures.Append(spool->Append("second", "").value()).ok());
  made.pictures = pictures.Take().value();
  made.pictures.spool = std::move(spool);
  return made;
}

std::vector<fs::path> FilesWith(const std::string& suffix, const std::string& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == suffix) files.push_back(entry);
  }
  return files;
}

TEST(TokenCache, KeepsPicturesThatHaveNoFileOfTheirOwn) {
  const ScratchDirectory scratch;
  Tokenized made = WithSpooledPictures(scratch.path());
  CacheTokens(scratch.path(), "key", &made);
  const auto cached = FindCachedTokens(scratch.path(), "key", kTokens);
  ASSERT_TRUE(cached);
  for (const Tokenized* tokens : {&std::as_const(made), &*cached}) {
    EXPECT_EQ(images::ReadPicture(tokens->pictures[0]).value(), "first");
    EXPECT_EQ(images::ReadPicture(tokens->pictures[1]).value(), "second");
    EXPECT_EQ(tokens->pictures[0].Name(), "a.png");
    EXPECT_EQ(tokens->pictures[1].Name(), kNamelessPicture);
  }
}

TEST(TokenCache, WithoutItsPicturesOrWithFewerBytesOfThemItIsAMiss) {
  const ScratchDirectory scratch;
  Keep(scratch.path(), "key", WithSpooledPictures(scratch.path()));
  const auto files = FilesWith(".pictures", scratch.path());
  ASSERT_EQ(files.size(), 1u);
  fs::resize_file(files[0], fs::file_size(files[0]) - 1);
  EXPECT_FALSE(FindCachedTokens(scratch.path(), "key", kTokens));
  fs::remove(files[0]);
  EXPECT_FALSE(FindCachedTokens(scratch.path(), "key", kTokens));
  Keep(scratch.path(), "key", WithSpooledPictures(scratch.path()));
  EXPECT_TRUE(FindCachedTokens(scratch.path(), "key", kTokens));
}

TEST(TokenCache, PicturesGoWithTheirTokens) {
  const ScratchDirectory scratch;
  const auto old = fs::file_time_type::clock::now() - std::chrono::hours(25);
  Keep(scratch.path(), "first", WithSpooledPictures(scratch.path()));
  fs::last_write_time(CachedTokensPath(scratch.path(), "first"), old);
  for (size_t i = 0; i < kMostCachedSets; ++i) Keep(scratch.path(), std::to_string(i));
  EXPECT_TRUE(FilesWith(".pictures", scratch.path()).empty());
  for (const char* name : {"0-1.pictures", "0-2.pictures"})
    ASSERT_TRUE(base::WriteFileAtomically(scratch.path() + "/" + name, "left").ok());
  fs::last_write_time(scratch.path() + "/0-1.pictures", old);
  Keep(scratch.path(), "last");
  EXPECT_EQ(FilesWith(".pictures", scratch.path()).size(), 1u) << "one may be at work on its own";
}

TEST(TokenCache, ADamagedOrCutFileIsAMiss) {
  const ScratchDirectory scratch;
  Keep(scratch.path(), "key", WithPictures());
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
  Keep(scratch.path(), "key");
  EXPECT_FALSE(FindCachedTokens(scratch.path(), "key", 9));
  Keep(scratch.path(), "key", MadeOf({{5, 3, 0}}, {}));
  EXPECT_FALSE(FindCachedTokens(scratch.path(), "key", kTokens));
  for (const std::vector<TokenSpan>& ignored :
       {std::vector<TokenSpan>{{6, 8}}, {{3, 3}}, {{4, 6}, {5, 7}}, {{-1, 2}}}) {
    Keep(scratch.path(), "key", MadeOf({{0, 4, 2}, {4, 3, 0}}, ignored));
    EXPECT_FALSE(FindCachedTokens(scratch.path(), "key", kTokens));
  }
}

TEST(TokenCache, TheSetsUsedLastStay) {
  const ScratchDirectory scratch;
  for (size_t i = 0; i < kMostCachedSets + 3; ++i) Keep(scratch.path(), std::to_string(i));
  EXPECT_EQ(std::distance(fs::directory_iterator(scratch.path()), fs::directory_iterator()),
            static_cast<ptrdiff_t>(kMostCachedSets));
  EXPECT_TRUE(FindCachedTokens(scratch.path(), std::to_string(kMostCachedSets + 2), kTokens));
  EXPECT_FALSE(FindCachedTokens(scratch.path(), "0", kTokens));
}

TEST(TokenCache, AFileOfTokensBecomesTheCaches) {
  for (const int width_bytes : {2, 4}) {
    const ScratchDirectory scratch;
    TokenSpool spool({.folder = scratch.path(), .width_bytes = width_bytes, .tokens_in_memory = 1});
    for (const int32_t id : kIds) ASSERT_TRUE(spool.Append({&id, 1}).ok());
    Tokenized made = MadeOf({{0, 4, 2}, {4, 3, 0}}, {{5, 6}});
    made.tokens = spool.Take(&made.file).value();
    ASSERT_TRUE(made.tokens.is_mapped());
    CacheTokens(scratch.path(), "key", &made);
    EXPECT_FALSE(made.file.is_open());
    const auto cached = FindCachedTokens(scratch.path(), "key", kTokens);
    ASSERT_TRUE(cached);
    for (const Tokenized* tokens : {&std::as_const(made), &*cached}) {
      ASSERT_EQ(tokens->tokens.size(), 7);
      EXPECT_EQ(tokens->tokens.width_bytes(), width_bytes);
      for (int64_t i = 0; i < 7; ++i) EXPECT_EQ(tokens->tokens[i], kIds[static_cast<size_t>(i)]);
      ASSERT_EQ(tokens->rows.size(), 2u);
      EXPECT_EQ(tokens->rows[1].length, 3);
      ASSERT_EQ(tokens->ignored.size(), 1u);
      EXPECT_EQ(tokens->ignored[0].begin, 5);
    }
    EXPECT_FALSE(FindCachedTokens(scratch.path(), "key", 9));
    EXPECT_EQ(OnlyFile(scratch.path()), CachedTokensPath(scratch.path(), "key"));
  }
}

TEST(TokenCache, AFolderThatCannotBeMadeIsLeftOut) {
  const ScratchDirectory scratch;
  const std::string file = scratch.Write("file", "");
  Keep(file + "/tokens", "key");
  EXPECT_FALSE(FindCachedTokens(file + "/tokens", "key", kTokens));
}

}  // namespace
}  // namespace trainctl::data
