#include "common/base/parse_number.h"

#include <gtest/gtest.h>

namespace trainctl::base {
namespace {

TEST(ParseNumber, TakesWholeNumbersFromZero) {
  EXPECT_EQ(ParseNumber("0"), 0);
  EXPECT_EQ(ParseNumber("000000000004096"), 4096);
  EXPECT_EQ(ParseNumber("9223372036854775807"), INT64_MAX);
}

TEST(ParseNumber, RefusesAllElse) {
  for (const char* text : {"", "-1", "+1", " 1", "1 ", "1.5", "x", "9223372036854775808"})
    EXPECT_EQ(ParseNumber(text), std::nullopt) << "'" << text << "'";
}

}  // namespace
}  // namespace trainctl::base
