#include "worker/rank/data/token_spool.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>

#include "tests/files/file_limit.h"
#include "tests/files/scratch_directory.h"

namespace trainctl::data {
namespace {

constexpr int64_t kInMemory = 1000, kSpooledTokens = 3 << 20;

// Appends 0, 1, 2 … in parts of many sizes.
void Fill(TokenSpool& spool) {
  std::vector<int32_t> part;
  for (int64_t done = 0; done < kSpooledTokens; done += std::ssize(part)) {
    part.resize(static_cast<size_t>(std::min<int64_t>(done % 7919 + 1, kSpooledTokens - done)));
    std::iota(part.begin(), part.end(), static_cast<int32_t>(done));
    ASSERT_TRUE(spool.Append(part).ok());
    ASSERT_EQ(spool.size(), done + std::ssize(part));
  }
}

void ExpectFilled(const TokenStore& tokens) {
  ASSERT_EQ(tokens.size(), kSpooledTokens);
  for (int64_t i = 0; i < kSpooledTokens; ++i) ASSERT_EQ(tokens[i], i);
  EXPECT_EQ(tokens.bytes().size(), kSpooledTokens * sizeof(int32_t));
}

TokenStore Taken(TokenSpool& spool) {
  SpoolFile file;
  return spool.Take(&file).value();
}

TEST(TokenSpool, ManyTokensAreInAFileThatHasNoName) {
  const ScratchDirectory scratch;
  const std::string folder = scratch.path() + "/tokens";
  TokenSpool spool({.folder = folder, .tokens_in_memory = kInMemory});
  EXPECT_FALSE(std::filesystem::exists(folder));
  Fill(spool);
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  const TokenStore tokens = Taken(spool);
  EXPECT_TRUE(tokens.is_mapped());
  ExpectFilled(tokens);
  tokens.Release();
  ExpectFilled(tokens);
}

TEST(TokenSpool, FewTokensAndThoseWithoutAFolderStayInMemory) {
  const ScratchDirectory scratch;
  TokenSpool few({.folder = scratch.path(), .tokens_in_memory = kSpooledTokens}),
      nowhere({.tokens_in_memory = kInMemory});
  for (TokenSpool* spool : {&few, &nowhere}) {
    Fill(*spool);
    const TokenStore tokens = Taken(*spool);
    EXPECT_FALSE(tokens.is_mapped());
    ExpectFilled(tokens);
  }
}

TEST(TokenSpool, AFolderThatCannotBeMadeIsLeftOut) {
  const ScratchDirectory scratch;
  TokenSpool spool(
      {.folder = scratch.Write("file", "") + "/tokens", .tokens_in_memory = kInMemory});
  Fill(spool);
  ExpectFilled(Taken(spool));
}

TEST(TokenSpool, WhereTheFileMayNotGrowAllComesBackToMemory) {
  const ScratchDirectory scratch;
  const FileLimit limit(6 << 20);  // of 12 MiB
  TokenSpool spool({.folder = scratch.path(), .tokens_in_memory = kInMemory});
  Fill(spool);
  const TokenStore tokens = Taken(spool);
  EXPECT_FALSE(tokens.is_mapped());
  ExpectFilled(tokens);
}

TEST(TokenSpool, MoreThanMemoryMayTakeIsRefused) {
  const ScratchDirectory scratch;
  const FileLimit limit(1 << 20);
  TokenSpool spool(
      {.folder = scratch.path(), .tokens_in_memory = kInMemory, .most_in_memory = 1 << 20});
  const std::vector<int32_t> part(1 << 19, 7);
  base::Status status = base::Ok{};
  for (int i = 0; i < 4 && status; ++i) status = spool.Append(part);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("can't be written to " + scratch.path()), std::string::npos)
      << status.error().message;
}

}  // namespace
}  // namespace trainctl::data
