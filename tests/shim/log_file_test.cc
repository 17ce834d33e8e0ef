#include "worker/shim/log_file.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/shim/temp_folder.h"

namespace trainctl::shim {
namespace {

constexpr LogLimits kSmall = {.first_bytes = 4, .segment_bytes = 10, .newest_segments = 2};

std::string ReadAll(const std::string& folder) {
  std::string text;
  int64_t at = 0;
  for (LogChunk chunk = ReadLog(folder, at, 3); !chunk.data.empty();
       chunk = ReadLog(folder, at, 3)) {
    if (chunk.offset > at) text += "[" + std::to_string(chunk.offset - at) + " lost]";
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
  EXPECT_EQ(ReadAll(folder.path()), "abcd[20 lost]yz0123456789");
}

TEST(LogFile, ReadsNothingBehindItsEnd) {
  const tests::TempFolder folder;
  LogFile log(folder.path(), {});
  log.Append("abc");
  EXPECT_EQ(ReadLog(folder.path(), 3, 10).data, "");
  EXPECT_EQ(ReadLog(folder.path(), 1, 10).data, "bc");
}

TEST(LogFile, CountsBytesThatCouldNotBeWritten) {
  const tests::TempFolder folder;
  const std::string missing = folder.path() + "/later";
  LogFile log(missing, {});
  log.Append("lost");
  std::filesystem::create_directory(missing);
  log.Append("kept");
  EXPECT_EQ(log.end(), 8);
  EXPECT_EQ(ReadAll(missing), "[4 lost]kept");
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
