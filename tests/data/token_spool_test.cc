#include "worker/rank/data/token_spool.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <numeric>

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
    spool.Append(part);
    ASSERT_EQ(spool.size(), done + std::ssize(part));
  }
}

void ExpectFilled(const TokenStore& tokens) {
  ASSERT_EQ(tokens.size(), kSpooledTokens);
  for (int64_t i = 0; i < kSpooledTokens; ++i) ASSERT_EQ(tokens[i], i);
  EXPECT_EQ(tokens.bytes().size(), kSpooledTokens * sizeof(int32_t));
}

TEST(TokenSpool, ManyTokensAreInAFileThatHasNoName) {
  const ScratchDirectory scratch;
  const std::string folder = scratch.path() + "/tokens";
  TokenSpool spool(folder, kInMemory);
  EXPECT_FALSE(std::filesystem::exists(folder));
  Fill(spool);
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  const TokenStore tokens = spool.Take();
  EXPECT_TRUE(tokens.is_mapped());
  ExpectFilled(tokens);
  tokens.Release();
  ExpectFilled(tokens);
}

TEST(TokenSpool, FewTokensAndThoseWithoutAFolderStayInMemory) {
  const ScratchDirectory scratch;
  TokenSpool few(scratch.path(), kSpooledTokens), nowhere("", kInMemory);
  for (TokenSpool* spool : {&few, &nowhere}) {
    Fill(*spool);
    const TokenStore tokens = spool->Take();
    EXPECT_FALSE(tokens.is_mapped());
    ExpectFilled(tokens);
  }
}

TEST(TokenSpool, AFolderThatCannotBeMadeIsLeftOut) {
  const ScratchDirectory scratch;
  TokenSpool spool(scratch.Write("file", "") + "/tokens", kInMemory);
  Fill(spool);
  ExpectFilled(spool.Take());
}

TEST(TokenSpool, WhereTheFileMayNotGrowAllComesBackToMemory) {
  const ScratchDirectory scratch;
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto on_limit = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{6 << 20, before.rlim_max};  // of 12 MiB
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  TokenSpool spool(scratch.path(), kInMemory);
  Fill(spool);
  const TokenStore tokens = spool.Take();
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, on_limit);
  EXPECT_FALSE(tokens.is_mapped());
  ExpectFilled(tokens);
}

}  // namespace
}  // namespace trainctl::data
