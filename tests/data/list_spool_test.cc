#include "worker/rank/data/list_spool.h"

#include <gtest/gtest.h>

#include "tests/files/file_limit.h"
#include "tests/files/scratch_directory.h"

namespace trainctl::data {
namespace {

using Numbers = ListSpool<int64_t>;

constexpr int64_t kWrites = Numbers::kMostItems * sizeof(int64_t);  // bytes of each but the last
constexpr int64_t kListed = 3 * Numbers::kMostItems - 5;

KeptList<int64_t> Listed(const std::string& folder) {
  Numbers list(folder);
  for (int64_t i = 0; i < kListed; ++i) EXPECT_TRUE(list.Append(i).ok());
  EXPECT_EQ(list.size(), kListed);
  return list.Take().value();
}

void ExpectListed(const KeptList<int64_t>& numbers) {
  ASSERT_EQ(std::ssize(numbers.all()), kListed);
  for (int64_t i = 0; i < kListed; ++i) ASSERT_EQ(numbers[static_cast<size_t>(i)], i);
}

TEST(ListSpool, ManyItemsComeBackInTheirOrder) {
  const ScratchDirectory scratch;
  ExpectListed(Listed(scratch.path()));
  ExpectListed(Listed(""));
  ExpectListed(Listed(scratch.Write("file", "") + "/lists"));
}

// At the head, within each write, and at the last one, that of Take.
TEST(ListSpool, WhereTheFileMayNotGrowAllComesBackToMemory) {
  for (const int64_t bytes :
       {int64_t{10}, kWrites / 2, kWrites + 1000, 2 * kWrites + SpoolFile::kHeadBytes + 3}) {
    const ScratchDirectory scratch;
    const FileLimit limit(static_cast<rlim_t>(bytes));
    ExpectListed(Listed(scratch.path()));
  }
}

}  // namespace
}  // namespace trainctl::data
