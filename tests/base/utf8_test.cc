#include "common/base/utf8.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace trainctl::base {
namespace {

TEST(FindInvalidUtf8, AcceptsEveryLength) {
  EXPECT_EQ(FindInvalidUtf8("a é € 😀 \xF4\x8F\xBF\xBF"), std::nullopt);
}

TEST(FindInvalidUtf8, SaysWhereTheFirstFaultBegins) {
  EXPECT_EQ(FindInvalidUtf8("ab\xff"), 2u);
  EXPECT_EQ(FindInvalidUtf8("é\x80"), 2u);
}

TEST(FindInvalidUtf8, RefusesWhatTheStandardRefuses) {
  for (const char* text : {"\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xF0\x8F\xBF\xBF",
                           "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80"}) {
    EXPECT_EQ(FindInvalidUtf8(text), 0u);
  }
}

TEST(FindInvalidUtf8, RefusesSequencesThatEndEarly) {
  for (const char* text : {"\xC3", "\xE2\x82", "\xF0\x9F\x98", "\xE2\x28\xA1"})
    EXPECT_EQ(FindInvalidUtf8(text), 0u);
}

TEST(ReplaceInvalidUtf8, KeepsAllButTheBytesThatAreNoText) {
  std::string text = "é\xff€\xc3 \xf0\x9f\x98";
  ReplaceInvalidUtf8(&text);
  EXPECT_EQ(text, "é\uFFFD€\uFFFD \uFFFD\uFFFD\uFFFD");
}

TEST(ReplaceInvalidUtf8, LeavesValidTextAlone) {
  std::string text = "héllo 😀";
  ReplaceInvalidUtf8(&text);
  EXPECT_EQ(text, "héllo 😀");
}

TEST(WholeCharacters, EndsBetweenCharacters) {
  EXPECT_EQ(WholeCharacters("a\u20AC", 9), "a\u20AC");
  EXPECT_EQ(WholeCharacters("a\u20ACb", 4), "a\u20AC");
  EXPECT_EQ(WholeCharacters("a\u20ACb", 3), "a");
  EXPECT_EQ(WholeCharacters("\u20AC", 2), "");
}

TEST(Excerpt, KeepsWhatIsShortEnough) { EXPECT_EQ(Excerpt("häßlich", 9), "häßlich"); }

TEST(Excerpt, CutsBetweenCharacters) {
  EXPECT_EQ(Excerpt("abcdef", 5), "ab…");
  EXPECT_EQ(Excerpt("äöüß", 7), "äö…");
}

TEST(Excerpt, MakesBytesOfATerminalHarmless) {
  EXPECT_EQ(Excerpt("a\x1b[31m\n\xff", 20), "a?[31m??");
}

RC_GTEST_PROP(Excerpt, IsAlwaysValidAndWithinItsBound, (const std::string& text)) {
  const size_t bound = *rc::gen::inRange<size_t>(0, 20);
  const std::string shown = Excerpt(text, bound);
  RC_ASSERT(shown.size() <= bound);
  RC_ASSERT(!FindInvalidUtf8(shown));
}

}  // namespace
}  // namespace trainctl::base
