#include "common/base/size.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace trainctl::base {
namespace {

constexpr int64_t kGiB = int64_t{1} << 30;

TEST(ParseBytes, DecimalUnitsArePowersOf1000) {
  EXPECT_EQ(ParseBytes("80GB"), 80'000'000'000);
  EXPECT_EQ(ParseBytes("3kB"), 3'000);
  EXPECT_EQ(ParseBytes("3KB"), 3'000);
  EXPECT_EQ(ParseBytes("1.5TB"), 1'500'000'000'000);
}

TEST(ParseBytes, BinaryUnitsArePowersOf1024) {
  EXPECT_EQ(ParseBytes("80GiB"), 80 * kGiB);
  EXPECT_EQ(ParseBytes("512MiB"), kGiB / 2);
  EXPECT_EQ(ParseBytes("0.5GiB"), kGiB / 2);
}

TEST(ParseBytes, ABareNumberIsBytes) {
  EXPECT_EQ(ParseBytes("4096"), 4096);
  EXPECT_EQ(ParseBytes("0"), 0);
  EXPECT_EQ(ParseBytes("17B"), 17);
}

TEST(ParseBytes, OneSpaceMayStandBeforeTheUnit) {
  EXPECT_EQ(ParseBytes("40 GiB"), 40 * kGiB);
  EXPECT_EQ(ParseBytes("40  GiB"), std::nullopt);
  EXPECT_EQ(ParseBytes("40 "), std::nullopt);
}

TEST(ParseBytes, WholeNumbersAreExactUpToTheLargest) {
  EXPECT_EQ(ParseBytes("9223372036854775807"), INT64_MAX);
  EXPECT_EQ(ParseBytes("9223372036854775808"), std::nullopt);
  EXPECT_EQ(ParseBytes("8388608TiB"), std::nullopt);
}

TEST(ParseBytes, AnythingElseIsRefused) {
  for (const char* text : {"", "GB", "-1GB", "+1GB", "1gb", "1G", "1 .5GB", "1..5GB", ".5GB",
                           "5.GB", "1e9", "0x10", "1GB ", "nan", "inf"}) {
    EXPECT_EQ(ParseBytes(text), std::nullopt) << text;
  }
}

TEST(ParseDuration, EachUnitIsSeconds) {
  EXPECT_EQ(ParseDuration("90s"), 90);
  EXPECT_EQ(ParseDuration("10min"), 600);
  EXPECT_EQ(ParseDuration("2h"), 7'200);
  EXPECT_EQ(ParseDuration("2d"), 172'800);
}

TEST(ParseDuration, PartsAddUpInFallingOrder) {
  EXPECT_EQ(ParseDuration("1h30min"), 5'400);
  EXPECT_EQ(ParseDuration("1d 12h"), 129'600);
  EXPECT_EQ(ParseDuration("30min1h"), std::nullopt);
  EXPECT_EQ(ParseDuration("1h1h"), std::nullopt);
}

TEST(ParseDuration, AnythingElseIsRefused) {
  for (const char* text :
       {"", "10", "h", "-1h", "1.5h", "1m", "1 h", "1h ", "1H", "1h  2s", "9223372036854775807d"}) {
    EXPECT_EQ(ParseDuration(text), std::nullopt) << text;
  }
}

TEST(FormatBytes, TakesTheUnitThatFits) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(17), "17 B");
  EXPECT_EQ(FormatBytes(3 * 1024), "3.00 KiB");
  EXPECT_EQ(FormatBytes(25 << 19), "12.50 MiB");
  EXPECT_EQ(FormatBytes(-(25 << 19)), "-12.50 MiB");
  EXPECT_EQ(FormatBytes(100 << 20), "100.00 MiB");
  EXPECT_EQ(FormatBytes(103 << 20), "0.10 GiB");
  EXPECT_EQ(FormatBytes(kGiB * 3 / 2), "1.50 GiB");
  EXPECT_EQ(FormatBytes(80'000'000'000), "74.51 GiB");
}

TEST(SpellBytes, TakesTheShortestSpelling) {
  EXPECT_EQ(SpellBytes(80'000'000'000), "80GB");
  EXPECT_EQ(SpellBytes(40 * kGiB), "40GiB");
  EXPECT_EQ(SpellBytes(kGiB * 3 / 2), "1536MiB");
  EXPECT_EQ(SpellBytes(1'000'001), "1000001B");
  EXPECT_EQ(SpellBytes(0), "0B");
}

RC_GTEST_PROP(SpellBytes, IsReadBackToTheSameNumber, ()) {
  const int64_t bytes = *rc::gen::nonNegative<int64_t>();
  const int64_t factor = *rc::gen::element<int64_t>(1, 1000, 1024, 1'000'000, 1 << 20);
  const int64_t size = bytes % (INT64_MAX / factor) * factor;
  RC_ASSERT(ParseBytes(SpellBytes(size)) == size);
}

TEST(FormatDuration, ShowsThePartsThatAreNotZero) {
  EXPECT_EQ(FormatDuration(0), "0 s");
  EXPECT_EQ(FormatDuration(45), "45 s");
  EXPECT_EQ(FormatDuration(212), "3 min 32 s");
  EXPECT_EQ(FormatDuration(7'200), "2 h");
  EXPECT_EQ(FormatDuration(93'900), "1 d 2 h 5 min");
  EXPECT_EQ(FormatDuration(-61), "-1 min 1 s");
}

TEST(SpellDuration, IsAsAJobFileHasIt) {
  EXPECT_EQ(SpellDuration(0), "0s");
  EXPECT_EQ(SpellDuration(93'912), "1d 2h 5min 12s");
}

TEST(WithThousands, GroupsDigitsByThree) {
  EXPECT_EQ(WithThousands(0), "0");
  EXPECT_EQ(WithThousands(999), "999");
  EXPECT_EQ(WithThousands(-1'000), "-1,000");
  EXPECT_EQ(WithThousands(1'234'567), "1,234,567");
}

RC_GTEST_PROP(SpellDuration, IsReadBackToTheSameNumber, ()) {
  const int64_t seconds = *rc::gen::nonNegative<int64_t>();
  RC_ASSERT(ParseDuration(SpellDuration(seconds)) == seconds);
}

}  // namespace
}  // namespace trainctl::base
