// Texts of several lines, shown on one.
#include "common/base/one_line.h"

#include <gtest/gtest.h>

namespace trainctl::base {
namespace {

TEST(OneLine, LineEndsAndTabsAreSpelled) {
  EXPECT_EQ(OnOneLine("a\r\nb\tc\n"), "a\\r\\nb\\tc\\n");
  EXPECT_EQ(OnOneLine("Grüße, „Welt“"), "Grüße, „Welt“");
  EXPECT_EQ(OnOneLine(""), "");
}

TEST(OneLine, ABackslashIsToldFromALineEnd) {
  EXPECT_EQ(OnOneLine("\\n"), "\\\\n");
  EXPECT_NE(OnOneLine("\\n"), OnOneLine("\n"));
  EXPECT_EQ(OnOneLine("\\\n"), "\\\\\\n");
}

}  // namespace
}  // namespace trainctl::base
