#include "worker/rank/data/list_spool.h"

#include <gtest/gtest.h>

#include <span>

#include "tests/files/file_limit.h"
#include "tests/files/scratch_directory.h"

namespace trainctl::data {
namespace {

using Numbers = ListSpool<int64_t>;

constexpr int64_t kWrites = Numbers::kMostItems * sizeof(int64_t);  // bytes of each but the last
constexpr int64_t kListed = 3 * Numbers::kMostItems - 5;

KeptList<int64_t> Listed(const std::string& folder) {
  Numbers list(folder);
  int64_t appended = 0;
  while (appended < kListed && list.Append(appended).ok()) ++appended;
  EXPECT_EQ(appended, kListed);
  EXPECT_EQ(list.size(), kListed);
  return list.Take().value();
}

void ExpectListed(const KeptList<int64_t>& numbers) {
  const std::span<const int64_t> all = numbers.all();
  ASSERT_EQ(std::ssize(all), kListed);
  int64_t equal = 0;
  for (const int64_t number : all) equal += number == equal ? 1 : 0;  // stands still at the first
  EXPECT_EQ(equal, kListed);
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
