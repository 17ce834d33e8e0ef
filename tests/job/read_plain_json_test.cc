// The plain reader's trees are those of the reader that it spares. A newline behind the text keeps
// that one from asking it.
#include "common/json/read_plain_json.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "common/job/job_json.h"
#include "tests/job/random_job.h"

namespace trainctl::job {
namespace {

bool IsSame(const JsonNode& left, const JsonNode& right) {
  return left.type == right.type && left.boolean == right.boolean &&
         left.integer == right.integer && left.real == right.real && left.text == right.text &&
         left.line == right.line && left.keys == right.keys &&
         std::ranges::equal(left.items, right.items, IsSame);
}

// Or it has left the text to the other.
bool IsReadAlike(const std::string& text) {
  const auto plain = ReadPlainJson(text, {});
  if (!plain) return true;
  const JsonText json = ReadJson(text + "\n");
  return json.root && json.problems.empty() && IsSame(*plain, *json.root);
}

// With pieces of JSON in some places.
std::string Mutated(std::string text) {
  const int64_t mutations = *rc::gen::inRange(1, 4);
  for (int64_t i = 0; i < mutations; ++i) {
    const auto at = *rc::gen::inRange<size_t>(0, text.size());
    text.replace(at, *rc::gen::inRange<size_t>(0, 4),
                 *rc::gen::element<std::string>("", "{", "}", "]", ",", ":", "\"", "null", "true",
                                                "-", "0", ".5", "e9", " ", "\\u0041", "\xc3\xa9"));
  }
  return text;
}

TEST(ReadPlainJson, ReadsWhatIsStored) {
  for (const std::string text :
       {"null", "true", "false", "0", "-7", "123456789012345678", "0.1", "-2.5e-08", "1E3", R"("")",
        R"("a ~!")", "[]", "{}", R"({"a":[1,{"b":null}],"c":"x"})"}) {
    EXPECT_TRUE(ReadPlainJson(text, {})) << text;
    EXPECT_TRUE(IsReadAlike(text)) << text;
  }
}

TEST(ReadPlainJson, LeavesTheRestToTheOtherReader) {
  for (const std::string text : {"",
                                 " 1",
                                 "1 ",
                                 "01",
                                 "1.",
                                 ".5",
                                 "-",
                                 "1e",
                                 "1e+",
                                 "1e999",
                                 "+1",
                                 "nul",
                                 "NaN",
                                 "1234567890123456789",
                                 R"("\n")",
                                 "\"\x1f\"",
                                 "\"\x7f\"",
                                 "\"\xc3\xa9\"",
                                 "\"",
                                 "[",
                                 "[1,]",
                                 "[1",
                                 "{",
                                 R"({"a"})",
                                 R"({"a":})",
                                 R"({"a":1,})",
                                 R"({"a":1,"a":2})",
                                 "{}{}",
                                 "{a:1}"})
    EXPECT_FALSE(ReadPlainJson(text, {})) << text;
}

TEST(ReadPlainJson, KeepsToTheDepthThatIsAllowed) {
  EXPECT_TRUE(ReadPlainJson("[[]]", {.max_depth = 2}));
  EXPECT_TRUE(ReadPlainJson("[[],[]]", {.max_depth = 2}));
  EXPECT_FALSE(ReadPlainJson("[[[]]]", {.max_depth = 2}));
  EXPECT_FALSE(ReadPlainJson(std::string(100'000, '['), {.max_depth = 1'000'000}));
}

RC_GTEST_PROP(ReadPlainJson, ReadsJobsAsTheOtherReader, ()) {
  const std::string text = ToJson(*RandomJob());
  RC_ASSERT(IsReadAlike(text));
  RC_ASSERT(IsReadAlike(Mutated(text)));
}

// The schema's key sends a job to the reader that knows all keys.
RC_GTEST_PROP(ReadPlainJson, JobsOfKnownKeysAreReadAsAnyOther, ()) {
  const std::string text = Mutated(ToJson(*RandomJob()));
  RC_PRE(text.starts_with("{\"version\""));
  const auto known = FromJson(text), any = FromJson(R"({"$schema":"",)" + text.substr(1));
  RC_ASSERT(known.ok() == any.ok());
  if (known.ok()) RC_ASSERT(ToJson(*known) == ToJson(*any));
}

}  // namespace
}  // namespace trainctl::job
