#include "worker/rank/data/json_rows.h"

#include <gmock/gmock.h>

namespace trainctl::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> ReadRows(std::string_view text,
                                  std::optional<int64_t> max_rows = std::nullopt) {
  std::vector<std::string> texts;
  auto count =
      ReadJsonRows(text, "d.json", max_rows, [&](const files::JsonObject& row) -> base::Status {
        texts.push_back(row.Text("text"));
        if (texts.back() == "bad") return base::Error{base::Code::kInvalid, "is bad"};
        return base::Ok{};
      });
  if (!count) return {count.error().message};
  EXPECT_EQ(*count, static_cast<int64_t>(texts.size()));
  return texts;
}

TEST(JsonRows, AListAndLinesAreTheSameRows) {
  EXPECT_THAT(ReadRows(R"( [{"text": "a"}, {"text": "b"}] )"), ElementsAre("a", "b"));
  EXPECT_THAT(ReadRows("{\"text\": \"a\"}\r\n\n{\"text\": \"b\"}"), ElementsAre("a", "b"));
}

TEST(JsonRows, AByteOrderMarkIsNoRow) {
  EXPECT_THAT(ReadRows("\xEF\xBB\xBF[{\"text\": \"a\"}]"), ElementsAre("a"));
  EXPECT_THAT(ReadRows("\xEF\xBB\xBF{\"text\": \"a\"}\n"), ElementsAre("a"));
}

TEST(JsonRows, WhatIsNotJsonIsNamedByItsLineInTheFile) {
  EXPECT_THAT(ReadRows("{\"text\": \"a\"}\n{bad"),
              ElementsAre(HasSubstr("d.json: line 2: not JSON: column 2: syntax error")));
  EXPECT_THAT(ReadRows("[{\"text\": \"a\"},\n{bad]"),
              ElementsAre(HasSubstr("d.json: not JSON: line 2, column 2: syntax error")));
}

TEST(JsonRows, MaxRowsReadsNoFurther) {
  EXPECT_THAT(ReadRows(R"([{"text": "a"}, {"text": "b"}])", 1), ElementsAre("a"));
  EXPECT_THAT(ReadRows("{\"text\": \"a\"}\nnot JSON", 1), ElementsAre("a"));
}

TEST(JsonRows, AListIsReadAsItComes) {
  const std::string text =
      "[{\"text\": \"a\"}, {\"text\": \"bb\"}\n, {\"text\": \"c\", \"n\": [[1], {}]}]";
  std::vector<int64_t> done;
  const auto take = [](const files::JsonObject&) -> base::Status { return base::Ok{}; };
  const auto told = [&](int64_t bytes) { done.push_back(bytes); };
  ASSERT_EQ(ReadJsonRows(text, "d.json", std::nullopt, take, told).value(), 3);
  ASSERT_EQ(done.size(), 3u);
  EXPECT_GE(done[0], text.find(','));
  EXPECT_LT(done[0], text.find("bb"));
  EXPECT_LE(done[2], std::ssize(text));
  // What stands behind the rows that are wanted is not looked at.
  EXPECT_THAT(ReadRows("[{\"text\": \"a\"}, {bad", 1), ElementsAre("a"));
  EXPECT_THAT(ReadRows("[1, \"a\"]"), ElementsAre("d.json: [0]: 1: expected an object"));
}

TEST(JsonRows, NoRowsAreNone) {
  EXPECT_THAT(ReadRows("[]"), ElementsAre());
  EXPECT_THAT(ReadRows("  \n"), ElementsAre());
}

TEST(JsonRows, FaultsAreNamedWithTheirPlace) {
  EXPECT_THAT(ReadRows(R"([{"text": "a"}, {"txt": "b"}])"),
              ElementsAre("d.json: [1].text: missing: expected a string"));
  EXPECT_THAT(ReadRows(R"([{"text": 5}])"), ElementsAre("d.json: [0].text: 5: expected a string"));
  EXPECT_THAT(ReadRows(R"(["a"])"), ElementsAre("d.json: [0]: \"a\": expected an object"));
  EXPECT_THAT(ReadRows("\n{\"text\": \"bad\"}"), ElementsAre("d.json: line 2: is bad"));
  EXPECT_THAT(ReadRows("{\"text\": \"a\"}\n{\"text\""),
              ElementsAre(HasSubstr("d.json: line 2: not JSON")));
  EXPECT_THAT(ReadRows("[{\"text\": \"\xFF\"}]"), ElementsAre(HasSubstr("d.json: not JSON")));
  EXPECT_THAT(ReadRows(R"([{"text": "a", "text": "b"}])"),
              ElementsAre(HasSubstr("\"text\" stands twice")));
  EXPECT_THAT(ReadRows(std::string(100, '[')), ElementsAre(HasSubstr("nested deeper")));
}

}  // namespace
}  // namespace trainctl::data
