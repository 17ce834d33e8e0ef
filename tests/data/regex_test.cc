#include "worker/rank/tokenizer/regex.h"

#include <gmock/gmock.h>

namespace trainctl::data {
namespace {

using testing::ElementsAre;

std::vector<std::string> Split(const Regex& regex, std::string_view text) {
  std::vector<Span> spans;
  regex.Split(text, &spans);
  std::vector<std::string> shown;
  for (const Span& span : spans)
    shown.push_back((span.is_match ? "+" : "-") +
                    std::string(text.substr(span.begin, span.end - span.begin)));
  return shown;
}

std::vector<std::string> Split(const char* pattern, std::string_view text) {
  return Split(Regex::Compile(pattern).value(), text);
}

TEST(Regex, SplitsIntoMatchesAndWhatLiesBetween) {
  EXPECT_THAT(Split("[0-9]+", "a12b3"), ElementsAre("-a", "+12", "-b", "+3"));
  EXPECT_THAT(Split("x", ""), ElementsAre());
  EXPECT_THAT(Split("x", "abc"), ElementsAre("-abc"));
}

TEST(Regex, EmptyMatchesAreLeftOut) {
  EXPECT_THAT(Split("a*", "baac"), ElementsAre("-b", "+aa", "-c"));
}

TEST(Regex, ClassesAreUnicode) {
  EXPECT_THAT(Split("\\p{L}+", "é漢1"), ElementsAre("+é漢", "-1"));
  EXPECT_THAT(Split("\\d", "٣x"), ElementsAre("+٣", "-x"));
}

TEST(Regex, WhiteSpaceIsUnicodesProperty) {
  EXPECT_THAT(Split("\\s", "\u0085\u2003\u180E\u200B"),
              ElementsAre("+\u0085", "+\u2003", "-\u180E\u200B"));
  EXPECT_THAT(Split("[^\\s]+", " \u180E "), ElementsAre("- ", "+\u180E", "- "));
  EXPECT_THAT(Split("\\\\s", "\\s s"), ElementsAre("+\\s", "- s"));
}

TEST(Regex, LookaheadSeesBeyondTheMatch) {
  EXPECT_THAT(Split("\\s+(?!\\S)|\\s+", "a   b"), ElementsAre("-a", "+  ", "+ ", "-b"));
}

TEST(Regex, ALiteralStandsForItself) {
  EXPECT_THAT(Split(Regex::Literal(".*"), "a.*b"), ElementsAre("-a", "+.*", "-b"));
}

TEST(Regex, ALongRunNeedsNoLongStack) {
  const std::string text(1 << 18, 'a');
  EXPECT_THAT(Split("(?:a|b)+", text), ElementsAre("+" + text));
}

TEST(Regex, ABrokenPatternIsNamed) {
  EXPECT_THAT(Regex::Compile("a(").error().message, testing::HasSubstr("'a('"));
  EXPECT_THAT(Regex::Compile("[a&&b]").error().message,
              testing::HasSubstr("&& is not yet supported"));
}

}  // namespace
}  // namespace trainctl::data
