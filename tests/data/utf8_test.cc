#include "worker/rank/tokenizer/utf8.h"

#include <gtest/gtest.h>

namespace trainctl::data {
namespace {

std::string Repaired(std::string_view text) {
  std::string storage;
  return std::string(RepairUtf8(text, &storage));
}

TEST(Utf8, CharactersOfEveryLengthAreDecodedAndEncoded) {
  for (const char32_t code : {U'a', U'\x7F', U'\x80', U'é', U'\x7FF', U'\x800', U'▁', U'\xFFFF',
                              U'\x10000', U'😀', U'\x10FFFF'}) {
    std::string text;
    AppendUtf8(code, &text);
    const Utf8Char character = FirstChar(text + "x");
    EXPECT_TRUE(character.well_formed) << uint32_t{code};
    EXPECT_EQ(character.code, code);
    EXPECT_EQ(character.length, text.size());
  }
}

TEST(Utf8, WellFormedTextIsNotCopied) {
  const std::string_view text = "naïve 😀";
  std::string storage;
  EXPECT_EQ(RepairUtf8(text, &storage).data(), text.data());
}

// The expectations are Python's bytes.decode(errors="replace").
TEST(Utf8, EachIllFormedSequenceBecomesOneReplacement) {
  EXPECT_EQ(Repaired("a\xFF"
                     "b"),
            "a\uFFFDb");
  EXPECT_EQ(Repaired("\xC0\xAF"), "\uFFFD\uFFFD");
  EXPECT_EQ(Repaired("\xE2\x96"), "\uFFFD");
  EXPECT_EQ(Repaired("\xE2\x96x"), "\uFFFDx");
  EXPECT_EQ(Repaired("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(Repaired("\xF0\x9F\x98\xC3\xA9"), "\uFFFDé");
  EXPECT_EQ(Repaired("\xF4\x90\x80\x80"), "\uFFFD\uFFFD\uFFFD\uFFFD");
}

}  // namespace
}  // namespace trainctl::data
