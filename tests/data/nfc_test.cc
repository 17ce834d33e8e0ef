// The expectations are unicodedata.normalize("NFC", …)'s.
#include "worker/rank/tokenizer/nfc.h"

#include <gtest/gtest.h>

namespace trainctl::data {
namespace {

TEST(Nfc, MarksJoinTheirLetters) {
  EXPECT_EQ(ToNfc("Cafe\u0301"), "Caf\u00E9");
  EXPECT_EQ(ToNfc("a\u0302\u0301"), "\u1EA5") << "twice";
  EXPECT_EQ(ToNfc("\u1E0B\u0323"), "\u1E0D\u0307") << "in the order of their classes";
  EXPECT_EQ(ToNfc("x\u0301"), "x\u0301") << "there is no such letter";
}

TEST(Nfc, AMarkIsBlockedByOneOfItsOwnClass) {
  EXPECT_EQ(ToNfc("a\u0304\u0301"), "\u0101\u0301");
  EXPECT_EQ(ToNfc("a\u0321\u0301"), "\u00E1\u0321");
}

TEST(Nfc, HangulIsComposedByArithmetic) {
  EXPECT_EQ(ToNfc("\u1112\u1161\u11AB"), "\uD55C");
  EXPECT_EQ(ToNfc("\uD558\u11AB"), "\uD55C");
  EXPECT_EQ(ToNfc("\u1161\u11AB"), "\u1161\u11AB");
}

TEST(Nfc, SomeCharactersAreNeverComposedAgain) {
  EXPECT_EQ(ToNfc("\u0958"), "\u0915\u093C");
  EXPECT_EQ(ToNfc("\u212B"), "\u00C5") << "the sign of the unit is the letter";
  EXPECT_EQ(ToNfc("\uF900"), "\u8C48") << "a compatibility ideograph";
  EXPECT_EQ(ToNfc("\U0002F800"), "\u4E3D");
}

TEST(Nfc, TextThatIsComposedStaysAsItIs) {
  for (const char* text : {"", "plain", "na\u00EFve \u00FF\u0100\u02FF", "\u4E2D\u6587 \uD55C",
                           "\U0001F600", "\u0301"})
    EXPECT_EQ(ToNfc(text), text);
}

}  // namespace
}  // namespace trainctl::data
