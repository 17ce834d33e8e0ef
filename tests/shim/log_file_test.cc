#include "worker/shim/log_file.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "tests/shim/mounts.h"
#include "tests/shim/temp_folder.h"

namespace trainctl::shim {
namespace {

constexpr LogLimits kSmall = {.first_bytes = 4, .segment_bytes = 10, .newest_segments = 2};

std::string ReadAll(const std::string& folder) {
  std::string text;
  int64_t at = 0;
  for (LogChunk chunk = ReadLog(folder, at, 3); !chunk.data.empty();
       chunk = ReadLog(folder, at, 3)) {
    if (chunk.offset > at) text += "[to " + std::to_string(chunk.offset) + "]";
    text += chunk.data;
    at = chunk.offset + static_cast<int64_t>(chunk.data.size());
  }
  return text;
}

TEST(LogFile, KeepsItsStartAndItsEndWithTheirOffsets) {
  const tests::TempFolder folder;
  LogFile log(folder.path(), kSmall);
  for (const char c : std::string("abcdefghijklmnopqrstuvwxyz0123456789"))
    log.Append(std::string(1, c));
  EXPECT_EQ(log.end(), 36);
  EXPECT_EQ(ReadAll(folder.path()), "abcd[to 24]yz0123456789");
}

TEST(LogFile, ReadsNothingBehindItsEnd) {
  const tests::TempFolder folder;
  LogFile log(folder.path(), {});
  log.Append("abc");
  EXPECT_EQ(ReadLog(folder.path(), 3, 10).data, "");
  EXPECT_EQ(ReadLog(folder.path(), 1, 10).data, "bc");
}

TEST(LogFile, HoldsWhatTheDiskDoesNotTake) {
  const tests::TempFolder folder;
  const std::string missing = folder.path() + "/later";
  LogFile log(missing, {});
  log.Append("held ");
  EXPECT_TRUE(log.stalled());
  EXPECT_EQ(log.error(), ENOENT);
  std::filesystem::create_directory(missing);
  log.Append("and kept");
  EXPECT_FALSE(log.stalled());
  EXPECT_EQ(log.error(), 0);
  EXPECT_EQ(log.Finish(), 0);
  EXPECT_EQ(ReadAll(missing), "held and kept");
}

TEST(LogFile, LosesTheOldestBytesBeyondTheBound) {
  const tests::TempFolder folder;
  const std::string missing = folder.path() + "/later";
  LogFile log(missing, {.held_bytes = 4});
  log.Append(std::string(100, 'x') + "kept");
  std::filesystem::create_directory(missing);
  log.Append("!");
  EXPECT_EQ(log.end(), 105);
  EXPECT_EQ(ReadAll(missing), "[to 100]kept!");
  EXPECT_EQ(LogTail(missing, 2), "kept!");
}

TEST(LogFile, TellsWhatWasLostAtItsEnd) {
  const tests::TempFolder folder;
  LogFile log(folder.path() + "/never", {});
  log.Append("lost");
  EXPECT_EQ(log.Finish(), 4);
}

TEST(LogFile, SkipsEmptySegments) {
  const tests::TempFolder folder;
  LogFile log(folder.path(), {.first_bytes = 3});
  log.Append("abc");
  log.Append("def");
  for (const int64_t start : {2, 3, 5, 9})
    std::ofstream(SegmentPath(folder.path(), "rank.log", start), std::ios::app);
  EXPECT_EQ(ReadAll(folder.path()), "abcdef");
}

TEST(LogFile, AFullDiskLeavesNoEmptySegmentAndLosesNothing) {
  const tests::TempFolder folder;
  const tests::SmallDisk disk(folder.path(), 64);
  if (!disk.mounted()) GTEST_SKIP() << "no file system can be mounted here";
  LogFile log(folder.path(), {});
  log.Append("before ");
  disk.Fill();
  std::string all = "before ";
  for (int i = 0; i < 300; ++i) {
    const std::string line = "line " + std::to_string(i) + " of a rank that prints on\n";
    log.Append(line);
    all += line;
  }
  EXPECT_TRUE(log.stalled());
  EXPECT_EQ(ListSegments(folder.path(), "rank.log").size(), 1u);
  disk.Empty();
  log.Append("after");
  EXPECT_EQ(log.Finish(), 0);
  EXPECT_EQ(ListSegments(folder.path(), "rank.log").size(), 1u);
  EXPECT_EQ(ReadAll(folder.path()), all + "after");
}

TEST(LogFile, ManyGapsDoNotPushTheLogOut) {
  const tests::TempFolder folder;
  const std::string here = folder.path() + "/log", away = folder.path() + "/away";
  std::filesystem::create_directory(here);
  LogFile log(here,
              {.first_bytes = 4, .segment_bytes = 100, .newest_segments = 9, .held_bytes = 1});
  log.Append("head" + std::string(90, 'x'));
  for (int gap = 0; gap < 20; ++gap) {  // each begins a segment of its own
    log.Append(std::string(10, 'x'));   // fills the open one
    std::filesystem::rename(here, away);
    log.Append("lost");
    std::filesystem::rename(away, here);
  }
  EXPECT_EQ(ReadLog(here, 4, 90).data, std::string(90, 'x'));
}

TEST(LogTail, GivesWholeLinesFromTheEnd) {
  const tests::TempFolder folder;
  LogFile log(folder.path(), kSmall);
  EXPECT_EQ(LogTail(folder.path(), 2), "");
  log.Append("one\ntwo\nthree\nfour");
  EXPECT_EQ(LogTail(folder.path(), 2), "three\nfour");
  log.Append("\n");
  EXPECT_EQ(LogTail(folder.path(), 1), "four\n");
  EXPECT_EQ(LogTail(folder.path(), 9), "one\ntwo\nthree\nfour\n");
  EXPECT_EQ(LogTail(folder.path(), 9, 12), "three\nfour\n")
      << "a line cut by the bound is left out";
}

}  // namespace
}  // namespace trainctl::shim
