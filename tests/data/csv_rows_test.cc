#include "worker/rank/data/csv_rows.h"

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
};

// The texts of the column "text".
CsvRead ReadTexts(std::string_view text, std::optional<int64_t> max_rows = std::nullopt) {
  CsvRead read;
  const auto take = [&](const files::JsonObject& row) -> base::Status {
    read.texts.push_back(row.Text("text"));
    return base::Ok{};
  };
  const auto count = ReadCsvRows(text, "m.csv", max_rows, take);
  if (!count) read.error = count.error().message;
  EXPECT_TRUE(!count || *count == std::ssize(read.texts));
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
  EXPECT_THAT(ReadTexts("text,x\n1,\n2,\n3,\n", 2).texts, ElementsAre("1", "2"));
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
  }
  EXPECT_GT(refused, 50);
}

}  // namespace
}  // namespace trainctl::data
