#include "worker/shim/spool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/shim/temp_folder.h"

namespace trainctl::shim {
namespace {

constexpr SpoolLimits kSmallSpool = {.total_bytes = 100, .segment_bytes = 20};

std::vector<std::string> ReadFrom(const std::string& folder, int64_t sequence) {
  SpoolReader reader(folder);
  reader.Seek(sequence);
  std::vector<std::string> lines;
  while (const auto line = reader.Next())
    lines.push_back(std::to_string(line->sequence) + ":" + line->text);
  return lines;
}

TEST(Spool, NumbersLinesFromOneAcrossItsFiles) {
  const tests::TempFolder folder;
  Spool spool(folder.path(), kSmallSpool);
  for (const char* line : {"first line", "second line", "third", "fourth"}) spool.Append(line);
  EXPECT_EQ(spool.lines(), 4);
  EXPECT_GT(ListSegments(folder.path(), "spool.jsonl").size(), 1u);
  EXPECT_THAT(ReadFrom(folder.path(), 1),
              testing::ElementsAre("1:first line", "2:second line", "3:third", "4:fourth"));
  EXPECT_THAT(ReadFrom(folder.path(), 4), testing::ElementsAre("4:fourth"));
  EXPECT_THAT(ReadFrom(folder.path(), 5), testing::IsEmpty());
}

TEST(Spool, AReaderFollowsTheWriter) {
  const tests::TempFolder folder;
  Spool spool(folder.path(), kSmallSpool);
  SpoolReader reader(folder.path());
  for (int i = 1; i <= 10; ++i) {
    EXPECT_FALSE(reader.Next());
    spool.Append("line number " + std::to_string(i));
    spool.Acknowledge(i - 1);
    const auto line = reader.Next();
    ASSERT_TRUE(line) << i;
    EXPECT_EQ(line->sequence, i);
  }
  EXPECT_LE(ListSegments(folder.path(), "spool.jsonl").size(), 2u);
}

TEST(Spool, ALineIsAppendedToAnEndedOne) {
  const tests::TempFolder folder;
  Spool(folder.path(), kSmallSpool).Append("first");
  AppendToEndedSpool(folder.path(), "last");
  EXPECT_THAT(ReadFrom(folder.path(), 1), testing::ElementsAre("1:first", "2:last"));
}

TEST(Spool, ALineIsAppendedBehindOneThatWasTorn) {
  const tests::TempFolder folder;
  Spool(folder.path(), kSmallSpool).Append("first");
  std::ofstream(SegmentPath(folder.path(), "spool.jsonl", 1), std::ios::app) << "{\"type\":\"met";
  AppendToEndedSpool(folder.path(), "last");
  EXPECT_THAT(ReadFrom(folder.path(), 1),
              testing::ElementsAre("1:first", "2:{\"type\":\"met", "3:last"));
}

TEST(Spool, ALineIsAppendedWhereTheRankSaidNothing) {
  const tests::TempFolder folder;
  AppendToEndedSpool(folder.path(), "last");
  EXPECT_THAT(ReadFrom(folder.path(), 1), testing::ElementsAre("1:last"));
}

TEST(Spool, AReaderStartsAtTheFirstLineThatIsKept) {
  const tests::TempFolder folder;
  Spool spool(folder.path(), kSmallSpool);
  for (int i = 1; i <= 4; ++i) spool.Append("a line of twenty-one!");
  spool.Acknowledge(2);
  EXPECT_THAT(ReadFrom(folder.path(), 1),
              testing::ElementsAre("3:a line of twenty-one!", "4:a line of twenty-one!"));
}

TEST(Spool, AcknowledgedLinesMakeRoom) {
  const tests::TempFolder folder;
  Spool spool(folder.path(), kSmallSpool);
  const std::string metrics = R"({"type":"metrics"})";
  for (int i = 0; i < 10; ++i) spool.Append(metrics);
  const int64_t full = spool.lines();
  EXPECT_LT(full, 10);
  spool.Acknowledge(full);
  spool.Append(metrics);
  EXPECT_THAT(ReadFrom(folder.path(), full + 1),
              testing::ElementsAre(
                  std::to_string(full + 1) +
                      ":{\"type\":\"dropped\",\"messages\":" + std::to_string(10 - full) + "}",
                  std::to_string(full + 2) + ":" + metrics));
}

TEST(Spool, HoldsLinesBackWhileTheDiskRefusesThem) {
  const tests::TempFolder folder;
  const std::string missing = folder.path() + "/later";
  Spool spool(missing, kSmallSpool);
  spool.Append("one");
  std::filesystem::create_directory(missing);
  spool.Append("two");
  EXPECT_THAT(ReadFrom(missing, 1), testing::ElementsAre("1:one", "2:two"));
}

// A disk that has room again, for less than all that waits.
TEST(Spool, TheEndHasRoomBeforeWhatMayBeLost) {
  const tests::TempFolder folder;
  const std::string missing = folder.path() + "/later";
  Spool spool(missing, {});
  for (int i = 0; i < 3; ++i) {
    spool.Append("{\"type\":\"metrics\"}", 5);
    spool.Append("{\"type\":\"saved\"}", 5);
  }
  std::filesystem::create_directory(missing);
  spool.Finish(6);
  EXPECT_THAT(ReadFrom(missing, 1),
              testing::ElementsAre(R"(1:{"heard_at":5,"type":"saved"})",
                                   R"(2:{"heard_at":5,"type":"saved"})",
                                   R"(3:{"heard_at":5,"type":"saved"})",
                                   R"(4:{"heard_at":6,"type":"dropped","messages":3})"));
  EXPECT_EQ(spool.lines(), 4);
}

TEST(Spool, AMessageKeepsWhenItWasHeard) {
  const tests::TempFolder folder;
  Spool spool(folder.path(), kSmallSpool);
  spool.Append(R"({"type":"saved","heard_at":5})", 1'700'000'000'000'000);
  spool.Append(R"({"type":"saved"})");
  spool.Append("rubbish", 7);
  spool.Append("{}", 7);
  EXPECT_THAT(ReadFrom(folder.path(), 1),
              testing::ElementsAre(R"(1:{"heard_at":1700000000000000,"type":"saved","heard_at":5})",
                                   R"(2:{"type":"saved"})", "3:rubbish", "4:{}"));
  EXPECT_EQ(HeardAt(R"({"heard_at":1700000000000000,"type":"saved"})"), 1'700'000'000'000'000);
  for (const char* line : {R"({"type":"saved"})", R"({"heard_at":-1,"type":""})",
                           R"({"heard_at":99999999999999999999})", R"({"heard_at":)", ""}) {
    EXPECT_EQ(HeardAt(line), 0) << line;
  }
}

TEST(Spool, TheLongestMessageIsNotMadeTooLong) {
  const tests::TempFolder folder;
  Spool spool(folder.path(), {});
  const std::string longest = "{\"" + std::string(kMaxLineBytes - 2, 'x');
  spool.Append(longest, 7);
  spool.Append("{\"next\":1}", 7);
  SpoolReader reader(folder.path());
  EXPECT_EQ(reader.Next()->text, longest);
  EXPECT_EQ(reader.Next()->text, "{\"heard_at\":7,\"next\":1}");
}

TEST(Spool, WhatWasLostStandsWhereItIsSaid) {
  const tests::TempFolder folder;
  Spool spool(folder.path(), kSmallSpool);
  spool.CountDropped(3);
  spool.Append("{\"type\":\"saved\"}", 5);
  spool.CountDropped(2);
  spool.Finish(6);
  EXPECT_THAT(ReadFrom(folder.path(), 1),
              testing::ElementsAre(R"(1:{"heard_at":5,"type":"dropped","messages":3})",
                                   R"(2:{"heard_at":5,"type":"saved"})",
                                   R"(3:{"heard_at":6,"type":"dropped","messages":2})"));
}

TEST(SpoolReader, ALineWithoutItsNewlineIsNotThereYet) {
  const tests::TempFolder folder;
  std::ofstream file(SegmentPath(folder.path(), "spool.jsonl", 1));
  file << "one\ntw" << std::flush;
  SpoolReader reader(folder.path());
  EXPECT_EQ(reader.Next()->text, "one");
  EXPECT_FALSE(reader.Next());
  file << "o\n" << std::flush;
  EXPECT_EQ(reader.Next()->text, "two");
}

}  // namespace
}  // namespace trainctl::shim
