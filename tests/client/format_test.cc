#include "client/show/format.h"

#include <gtest/gtest.h>

#include <cmath>

#include "client/show/character_width.h"

namespace trainctl::client {
namespace {

TEST(WrapLines, BreaksAtSpacesAndIndentsWhatGoesOn) {
  const std::string text = "Time: 12 s, 2.4 s of it training\nand a line";
  EXPECT_EQ(WrapLines(text, 0), text + "\n");
  EXPECT_EQ(WrapLines(text, 28, 2), "Time: 12 s, 2.4 s of it\n  training\n  and a line\n");
  EXPECT_EQ(LabelledLine("steps", 8, "62 optimizer steps: 1 epoch", 36),
            "  steps   62 optimizer steps: 1\n          epoch\n");
}

TEST(Format, WholeNumbersHaveThousandsSeparators) {
  EXPECT_EQ(WithThousands(0), "0");
  EXPECT_EQ(WithThousands(999), "999");
  EXPECT_EQ(WithThousands(1000), "1,000");
  EXPECT_EQ(WithThousands(-1234567), "-1,234,567");
}

TEST(Format, NumbersHaveFourSignificantDigitsAndNoNeedlessExponent) {
  EXPECT_EQ(FormatNumber(2.34567), "2.346");
  EXPECT_EQ(FormatNumber(0.0002), "0.0002");
  EXPECT_EQ(FormatNumber(2e-8), "2e-08");
  EXPECT_EQ(FormatNumber(12345.6), "12,346");
  EXPECT_EQ(FormatNumber(42), "42");
  EXPECT_EQ(FormatNumber(-0.5), "-0.5");
  EXPECT_EQ(FormatNumber(999.96), "1000");
  EXPECT_EQ(FormatNumber(std::nan("")), "nan");
}

TEST(Format, UnitsDecideHowANumberReads) {
  EXPECT_EQ(FormatWithUnit(9.81 * (1 << 30), "bytes"), "9.81 GiB");
  EXPECT_EQ(FormatWithUnit(12.5 * (1 << 20), "bytes"), "12.50 MiB");
  EXPECT_EQ(FormatWithUnit(0, "bytes"), "0 B");
  EXPECT_EQ(FormatWithUnit(0.4125, "s"), "412.50 ms");
  EXPECT_EQ(FormatWithUnit(0.00022, "s"), "0.22 ms");
  EXPECT_EQ(FormatWithUnit(0, "s"), "0.00 ms");
  EXPECT_EQ(FormatWithUnit(12.345, "s"), "12.35 s");
  EXPECT_EQ(FormatWithUnit(212, "s"), "3 min 32 s");
  EXPECT_EQ(FormatWithUnit(12345.6, "tokens/s"), "12,346 tokens/s");
  EXPECT_EQ(FormatWithUnit(1.9444, "×"), "1.94×");
  EXPECT_EQ(FormatWithUnit(97.6, "%"), "98 %");
}

TEST(Format, DeltasAreSignedPercent) {
  EXPECT_EQ(FormatDelta(0.1234), "+12.3 %");
  EXPECT_EQ(FormatDelta(-0.45), "−45.0 %");
  EXPECT_EQ(FormatDelta(0.0001), "±0 %");
  EXPECT_EQ(FormatDelta(25), "+2500 %");
}

TEST(Format, ElapsedTimeReadsAsOnAClock) {
  EXPECT_EQ(FormatClock(7), "0:07");
  EXPECT_EQ(FormatClock(723), "12:03");
  EXPECT_EQ(FormatClock(10931), "3:02:11");
  EXPECT_EQ(FormatClock(-5), "0:00");
}

TEST(Format, WidthIsThatOfATerminal) {
  EXPECT_EQ(DisplayWidth("日本語"), 6);
  EXPECT_EQ(DisplayWidth("e\u0301mile"), 5) << "a mark on a letter";
  EXPECT_EQ(DisplayWidth("👩\u200d💻"), 2) << "joined";
  EXPECT_EQ(DisplayWidth("🇩🇪"), 2);
  EXPECT_EQ(DisplayWidth("قم"), 2);
  EXPECT_EQ(DisplayWidth("a\xff"
                         "b"),
            3)
      << "no character";
}

TEST(Format, NoCharacterIsHalvedByTruncation) {
  EXPECT_EQ(Truncate("日本語", 6), "日本語");
  EXPECT_EQ(Truncate("日本語", 5), "日本…");
  EXPECT_EQ(Truncate("日本語", 4), "日…") << "one column short";
  EXPECT_EQ(Truncate("e\u0301mile", 4), "e\u0301mi…");
  EXPECT_EQ(Truncate("x👩\u200d💻yz", 4), "x👩\u200d💻…");
  EXPECT_EQ(Truncate("x👩\u200d💻yz", 3), "x…");
}

TEST(Format, CodePointsAreCountedForProgramsThatTakeSoMany) {
  EXPECT_EQ(FirstCodePoints("日本語", 2), "日本");
  EXPECT_EQ(FirstCodePoints("größe", 9), "größe");
  EXPECT_EQ(FirstCodePoints("ab", 0), "");
}

TEST(Format, WidthCountsCodePointsAndTruncationNeverSplitsOne) {
  EXPECT_EQ(DisplayWidth("größe"), 5);
  EXPECT_EQ(Truncate("größe", 5), "größe");
  EXPECT_EQ(Truncate("größe", 4), "grö…");
  EXPECT_EQ(Truncate("abc", 0), "");
}

}  // namespace
}  // namespace trainctl::client
