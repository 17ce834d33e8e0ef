#include "common/json/read_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "common/json/write_json.h"

namespace trainctl::job {
namespace {

using testing::HasSubstr;
using Type = JsonNode::Type;

Problem OnlyProblem(std::string_view text, const JsonLimits& limits = {}) {
  const JsonText json = ReadJson(text, limits);
  EXPECT_EQ(json.problems.size(), 1u) << text;
  return json.problems.empty() ? Problem{} : json.problems.front();
}

TEST(ReadJson, KeepsEveryKindOfValue) {
  const JsonText json =
      ReadJson(R"({"n": null, "b": true, "i": -3, "r": 2e-4, "s": "x\u00e9", "a": [1, {}]})");
  ASSERT_TRUE(json.root);
  EXPECT_TRUE(json.root->Find("n")->Is(Type::kNull));
  EXPECT_TRUE(json.root->Find("b")->boolean);
  EXPECT_EQ(json.root->Find("i")->integer, -3);
  EXPECT_EQ(json.root->Find("r")->real, 2e-4);
  EXPECT_EQ(json.root->Find("r")->text, "2e-4");
  EXPECT_EQ(json.root->Find("s")->text, "xé");
  EXPECT_EQ(json.root->Find("a")->items.size(), 2u);
}

TEST(ReadJson, KnowsTheLineOfEveryValue) {
  const JsonText json =
      ReadJson("{\n\"a\": 1\n,\n\"b\":\n2.5\n,\"c\": {\n\"d\": \"x\"\n}, \"e\": [\n\n3\n]}\n");
  ASSERT_TRUE(json.root);
  EXPECT_EQ(json.root->line, 1);
  EXPECT_EQ(json.root->Find("a")->line, 2);
  EXPECT_EQ(json.root->Find("b")->line, 5);
  EXPECT_EQ(json.root->Find("c")->line, 6);
  EXPECT_EQ(json.root->Find("c")->Find("d")->line, 7);
  EXPECT_EQ(json.root->Find("e")->items[0].line, 10);
}

TEST(ReadJson, NamesPlaceAndReasonOfASyntaxFault) {
  const Problem problem = OnlyProblem("{\"train\": {\n  \"epochs\": 1,\n}}");
  EXPECT_EQ(problem.line, 3);
  EXPECT_EQ(problem.expected, "valid JSON");
  EXPECT_THAT(problem.hint, HasSubstr("unexpected '}'"));
}

TEST(ReadJson, OfATextThatEndsTooEarlyTellsTheEndAndWhatIsOpen) {
  const std::string whole =
      "{\"a\": \"} \\\" é\",\n \"b\": [{\"c\": 1.5, \"dé\": \"x]\"}, true]\n}\n";
  EXPECT_TRUE(ReadJson(whole).problems.empty());
  const size_t last = whole.rfind('}');
  for (size_t bytes = 1; bytes <= last; ++bytes) {
    if ((whole[bytes] & 0xc0) == 0x80) continue;  // within a character
    const Problem cut = OnlyProblem(std::string_view(whole).substr(0, bytes));
    EXPECT_EQ(cut.path, "(file)") << bytes;
    EXPECT_THAT(cut.value, HasSubstr("ends too early, in line ")) << bytes;
    EXPECT_THAT(cut.hint, testing::EndsWith("the '{' of line 1, column 1")) << bytes;
  }
  const Problem in_key = OnlyProblem(std::string_view(whole).substr(0, whole.find("é\": \"x")));
  EXPECT_EQ(in_key.line, 2);
  EXPECT_EQ(in_key.value, "ends too early, in line 2, column 21");
  EXPECT_EQ(in_key.hint,
            "still open: the string of line 2, column 19, the '{' of line 2, column 8, the '[' of "
            "line 2, column 7, the '{' of line 1, column 1");
  EXPECT_EQ(OnlyProblem(std::string(6, '[')).hint,
            "still open: the '[' of line 1, column 6, the '[' of line 1, column 5, the '[' of "
            "line 1, column 4, the '[' of line 1, column 3 and 2 more");
}

TEST(ReadJson, RefusesWhatOtherReadersLetPass) {
  for (const char* text : {"", " ", "{", "{\"a\": 1,}", "[1,]", "// c\n{}", "{'a': 1}", "{a: 1}",
                           "{} {}", "NaN", "[01]", "[1.]", "[.5]", "[+1]", "\"\t\"", "tru"}) {
    EXPECT_EQ(OnlyProblem(text).expected, "valid JSON") << text;
  }
}

TEST(ReadJson, ListsEveryDuplicateAndKeepsTheFirst) {
  const JsonText json = ReadJson("{\"a\": 1,\n\"a\": {\"b\": 2},\n\"c\": {\"a\": 3,\n\"a\": 4}}");
  ASSERT_EQ(json.problems.size(), 2u);
  EXPECT_EQ(json.problems[0].path, "a");
  EXPECT_EQ(json.problems[0].line, 2);
  EXPECT_THAT(json.problems[0].hint, HasSubstr("line 1"));
  EXPECT_EQ(json.problems[1].path, "c.a");
  EXPECT_EQ(json.problems[1].line, 4);
  EXPECT_EQ(json.root->Find("a")->integer, 1);
}

TEST(ReadJson, DuplicatesAreComparedAfterUnescaping) {
  EXPECT_EQ(OnlyProblem(R"({"a": 1, "\u0061": 2})").value, "duplicate key");
}

TEST(ReadJson, RefusesInvalidUtf8) {
  const Problem problem = OnlyProblem("{\n\"name\": \"\xff\"}");
  EXPECT_EQ(problem.line, 2);
  EXPECT_EQ(problem.path, "name");
  EXPECT_THAT(problem.hint, HasSubstr("UTF-8"));
}

TEST(ReadJson, RefusesNumbersThatNoDoubleHolds) {
  const Problem problem = OnlyProblem("{\"optimizer\": {\n\"lr\": 1e999}}");
  EXPECT_EQ(problem.path, "optimizer.lr");
  EXPECT_EQ(problem.line, 2);
  EXPECT_EQ(problem.value, "1e999");
  EXPECT_EQ(problem.expected, "a number that a double can hold");
}

TEST(ReadJson, IntegersBeyond64BitsAreReals) {
  EXPECT_EQ(ReadJson("9223372036854775807").root->integer, INT64_MAX);
  EXPECT_TRUE(ReadJson("9223372036854775808").root->Is(Type::kReal));
  EXPECT_EQ(ReadJson("123456789012345678901234567890").root->text,
            "123456789012345678901234567890");
}

TEST(ReadJson, ReadsNestingUpToTheLimit) {
  const auto nested = [](size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(ReadJson(nested(64)).problems.empty());
  EXPECT_THAT(OnlyProblem(nested(65)).expected, HasSubstr("64 nested"));
  EXPECT_THAT(OnlyProblem(std::string(1'000'000, '[')).expected, HasSubstr("64 nested"));
}

TEST(ReadJson, ReadsTextsUpToTheLimit) {
  const std::string padded = "{}" + std::string((1 << 20) - 2, ' ');
  EXPECT_TRUE(ReadJson(padded).problems.empty());
  EXPECT_EQ(OnlyProblem(padded + " ").expected, "at most 1048576 bytes");
}

RC_GTEST_PROP(ReadJson, ReadsAnyBytesWithoutCrashing, (const std::string& text)) {
  const JsonText json = ReadJson(text);
  RC_ASSERT(json.root.has_value() || !json.problems.empty());
}

TEST(WriteJson, NonFiniteNumbersAreStrings) {
  EXPECT_EQ(WriteJson(JsonNode(0.0 / 0.0)), "\"NaN\"");
  EXPECT_EQ(WriteJson(JsonNode(-1.0 / 0.0)), "\"-Infinity\"");
}

TEST(WriteJson, InvalidUtf8IsReplaced) {
  EXPECT_EQ(WriteJson(JsonNode("a\xff")), "\"a\xEF\xBF\xBD\"");
}

RC_GTEST_PROP(WriteJson, EveryStringAndNumberIsReadBack,
              (const std::vector<int64_t>& integers, const std::vector<double>& reals)) {
  JsonNode array = JsonNode::Array();
  for (const int64_t value : integers) array.Append(value);
  for (const double value : reals) array.Append(value);
  const JsonText json = ReadJson(WriteJson(array));
  RC_ASSERT(json.root.has_value());
  for (size_t i = 0; i < integers.size(); ++i)
    RC_ASSERT(json.root->items[i].integer == integers[i]);
  for (size_t i = 0; i < reals.size(); ++i)
    RC_ASSERT(json.root->items[integers.size() + i].real == reals[i]);
}

}  // namespace
}  // namespace trainctl::job
