#include "common/base/check.h"

#include <gtest/gtest.h>

namespace trainctl::base {
namespace {

TEST(Check, SaysWhereFromTheRootOfTheCheckoutWhatAndTheContext) {
  const auto fail = [](int apples) { CHECK(apples > 3) << apples << " apples"; };
  fail(4);
  EXPECT_DEATH(fail(2),
               "^tests/base/check_test\\.cc:[0-9]+: CHECK\\(apples > 3\\) failed 2 apples\n");
}

TEST(Check, NamesAFileAlikeWhereverTheBuildFolderIs) {
  constexpr std::string_view kFile = "server/core/queue.cc";
  EXPECT_EQ(InCheckout("../server/core/queue.cc", "../common/base/check.h"), kFile);
  EXPECT_EQ(InCheckout("/home/x/server/core/queue.cc", "/home/x/common/base/check.h"), kFile);
  EXPECT_EQ(InCheckout("server/core/queue.cc", "common/base/check.h"), kFile);
}

TEST(Check, AFileOutsideTheCheckoutKeepsItsWholeName) {
  EXPECT_EQ(InCheckout("/usr/include/x.h", "/home/x/common/base/check.h"), "/usr/include/x.h");
  EXPECT_EQ(InCheckout("/usr/include/x.h", "renamed.h"), "/usr/include/x.h");
}

}  // namespace
}  // namespace trainctl::base
