#include "common/rank/cpu_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trainctl::job {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(CpuList, IsParsed) {
  EXPECT_THAT(ParseCpuList("0-3,8,10-11\n"), ElementsAre(0, 1, 2, 3, 8, 10, 11));
  EXPECT_THAT(ParseCpuList(""), IsEmpty());
  EXPECT_THAT(ParseCpuList("1,2-x,5"), ElementsAre(1));
  EXPECT_THAT(ParseCpuList("-1"), IsEmpty());
  EXPECT_THAT(ParseCpuList("0-99999999999"), IsEmpty());
}

TEST(CpuList, IsWrittenAsLinuxDoes) {
  EXPECT_EQ(CpuListText({11, 0, 1, 2, 8, 10, 3}), "0-3,8,10-11");
  EXPECT_EQ(CpuListText({5}), "5");
  EXPECT_EQ(CpuListText({}), "");
}

}  // namespace
}  // namespace trainctl::job
