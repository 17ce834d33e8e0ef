#include "worker/rank/data/row_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/files/mutate.h"

namespace trainctl::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct CsvRead {
  std::vector<std::string> texts;
  std::string error;
  bool operator==(const CsvRead&) const = default;
};

// The texts of the column "text".
CsvRead ReadTexts(std::string_view text, size_t chunk_bytes = 1) {
  CsvRead read;
  const auto take = [&](const files::JsonObject& row) -> base::Status {
    read.texts.push_back(row.Text("text"));
    return base::Ok{};
  };
  const std::string source = "m.csv";
  const auto lines = OpenRowLines(text, source);
  if (!lines) return {{}, lines.error().message};
  const auto put = [&](const RowChunk& chunk) {
    const base::Status status = chunk.read(take);
    if (!status) read.error = status.error().message;
    return status.ok();
  };
  CutLines(**lines, source, put, chunk_bytes);
  return read;
}

TEST(CsvRows, AFieldInQuotesHoldsCommasLinesAndQuotes) {
  const CsvRead read = ReadTexts("file_name,text\r\na.png,plain\r\nb.png,\"a, \"\"b\"\"\nc\"\r\n");
  EXPECT_THAT(read.texts, ElementsAre("plain", "a, \"b\"\nc"));
  EXPECT_EQ(read.error, "");
}

TEST(CsvRows, EmptyLinesAMarkAndAMissingLastLineEndDoNotMatter) {
  EXPECT_THAT(ReadTexts("\xEF\xBB\xBFtext,x\n\n1,2\r\n\r\n3,").texts, ElementsAre("1", "3"));
  EXPECT_THAT(ReadTexts("text\n").texts, ElementsAre());
}

TEST(CsvRows, WhatIsWrongIsToldWithItsLine) {
  EXPECT_EQ(ReadTexts("text,x\n\"a\nb\",1\nc\n").error, "m.csv: line 4: 1 fields, expected 2");
  EXPECT_EQ(ReadTexts("text\n\"a\n").error, "m.csv: line 2: a quote that nothing closes");
  EXPECT_EQ(ReadTexts("text\n\"a\"b\n").error, "m.csv: line 2: text behind a closing quote");
  EXPECT_EQ(ReadTexts("text,text\n").error, "m.csv: line 1: two columns 'text'");
  EXPECT_EQ(ReadTexts("text,\n").error, "m.csv: line 1: a column without a name");
  EXPECT_THAT(ReadTexts("words\na\n").error, HasSubstr("m.csv: line 2.text"));
  EXPECT_EQ(ReadTexts("").error, "m.csv: line 1: a column without a name");
}

TEST(CsvRows, DamagedFilesAreRefusedOrRead) {
  std::mt19937_64 random(7);
  int refused = 0;
  for (int round = 0; round < 500; ++round) {
    const std::string damaged =
        Mutate("file_name,text\na.png,\"a \"\"b\"\", c\"\nb.png,d\n", &random);
    refused += ReadTexts(damaged).error.empty() ? 0 : 1;
    EXPECT_EQ(ReadTexts(damaged, 1), ReadTexts(damaged, 1000)) << damaged;
  }
  EXPECT_GT(refused, 50);
}

TEST(CsvRows, ARowIsFoundBehindAnyPlace) {
  std::string text = "file_name,text\n";
  std::vector<size_t> begins;  // behind the head
  const size_t head = text.size();
  for (int i = 0; i < 60; ++i) {
    begins.push_back(text.size() - head);
    text += std::to_string(i) + ".png,\"two\nlines, \"\"one\"\",more\n\n,\"\n";
    begins.push_back(text.size() - head);
    text += std::to_string(i) + ".png,plain\r\n";
  }
  const auto lines = OpenRowLines(text, "m.csv").value();
  for (size_t place = 0; place < text.size() - head; ++place) {
    const auto next = std::ranges::upper_bound(begins, place);
    const size_t expected = next == begins.end() ? text.size() - head : *next;
    ASSERT_EQ(lines->BeginBehind(place), expected) << place;
  }
}

}  // namespace
}  // namespace trainctl::data
