#include "server/coordinator/log_files.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "tests/rpc/temporary_folder.h"

namespace trainctl::coordinator {
namespace {

const job::RankKey kRank{{7}, 1, 3};

std::string ReadAll(LogFiles& logs, int64_t offset = 0) {
  std::string text;
  for (;;) {
    const auto piece = logs.Read(kRank, offset, 5);
    EXPECT_TRUE(piece.ok());
    if (!piece || piece->data.empty()) return text;
    text += piece->data;
    offset = piece->next_offset;
  }
}

TEST(LogFiles, EachByteIsStoredOnceWhateverIsSentAgain) {
  const rpc_test::TemporaryFolder folder;
  LogFiles logs(folder.path());
  EXPECT_EQ(*logs.Append(kRank, 0, "hello "), 6);
  EXPECT_EQ(*logs.Append(kRank, 0, "hello "), 6);
  EXPECT_EQ(*logs.Append(kRank, 3, "lo world"), 11);
  EXPECT_EQ(*logs.Append(kRank, 2, "l"), 11);
  EXPECT_EQ(ReadAll(logs), "hello world");
}

TEST(LogFiles, WhatIsStoredIsKnownAfterARestart) {
  const rpc_test::TemporaryFolder folder;
  EXPECT_EQ(*LogFiles(folder.path()).Append(kRank, 0, "before"), 6);
  LogFiles logs(folder.path());
  EXPECT_EQ(*logs.End(kRank), 6);
  EXPECT_EQ(*logs.Append(kRank, 3, "ore and after"), 16);
  EXPECT_EQ(ReadAll(logs), "before and after");
}

TEST(LogFiles, TheFileOfARankLiesWherePeopleLookForIt) {
  const rpc_test::TemporaryFolder folder;
  ASSERT_TRUE(LogFiles(folder.path()).Append(kRank, 0, "x").ok());
  EXPECT_EQ(std::filesystem::file_size(folder.path() + "/j7/1/3.log"), 1u);
}

TEST(LogFiles, AJobsFilesAreRemovedInTurns) {
  const rpc_test::TemporaryFolder folder;
  LogFiles logs(folder.path());
  for (int64_t rank = 0; rank < 3; ++rank) ASSERT_TRUE(logs.Append({{7}, 1, rank}, 0, "x").ok());
  ASSERT_TRUE(logs.Append({{7}, 2, 0}, 0, "x").ok());
  ASSERT_TRUE(logs.Append({{8}, 1, 0}, 0, "x").ok());
  EXPECT_EQ(*logs.RemoveSome({7}, 3), LogFiles::Removal::kLeft);
  EXPECT_EQ(*logs.RemoveSome({7}, 3), LogFiles::Removal::kDone);
  EXPECT_FALSE(std::filesystem::exists(folder.path() + "/j7"));
  EXPECT_EQ(*logs.RemoveSome({7}, 3), LogFiles::Removal::kNothingThere);
  EXPECT_EQ(*logs.End({{7}, 2, 0}), 0);
  EXPECT_EQ(*logs.End({{8}, 1, 0}), 1);
}

// Nobody may unlink in /proc, root neither.
TEST(LogFiles, FilesThatCannotBeRemovedAreAnError) {
  const rpc_test::TemporaryFolder folder;
  std::filesystem::create_directory_symlink("/proc/self/fdinfo", folder.path() + "/j7");
  LogFiles logs(folder.path());
  for (const int64_t files : {1, 1'000'000}) {
    const auto removal = logs.RemoveSome({7}, files);
    ASSERT_FALSE(removal);
    EXPECT_NE(removal.error().message.find("/j7/"), std::string::npos) << removal.error().message;
  }
  EXPECT_TRUE(std::filesystem::is_symlink(folder.path() + "/j7"));
}

TEST(LogFiles, AFolderThatCannotBeOpenedIsAnErrorAndNotNothing) {
  const rpc_test::TemporaryFolder folder;
  std::ofstream(folder.path() + "/j7") << "no folder";
  const auto removal = LogFiles(folder.path()).RemoveSome({7}, 3);
  ASSERT_FALSE(removal);
  EXPECT_NE(removal.error().message.find("/j7"), std::string::npos) << removal.error().message;
}

TEST(LogFiles, ANeighbourWhoseNumberBeginsAlikeIsAnotherRank) {
  const rpc_test::TemporaryFolder folder;
  ASSERT_TRUE(LogFiles(folder.path()).Append({{7}, 1, 31}, 0, "other").ok());
  LogFiles logs(folder.path());
  EXPECT_EQ(*logs.End(kRank), 0);
  EXPECT_EQ(ReadAll(logs), "");
}

TEST(LogFiles, AGapIsSaidInTheLogItself) {
  const rpc_test::TemporaryFolder folder;
  LogFiles logs(folder.path());
  ASSERT_TRUE(logs.Append(kRank, 0, "one").ok());
  EXPECT_EQ(*logs.Append(kRank, 1003, "two"), 1006);
  const std::string mark = GapMark(1000);
  EXPECT_NE(mark.find(" 1000 bytes of this log are missing"), std::string::npos) << mark;
  EXPECT_EQ(ReadAll(logs), "one" + mark + "two");
  LogFiles again(folder.path());
  EXPECT_EQ(*again.End(kRank), 1006);
  EXPECT_EQ(ReadAll(again, 50), mark + "two");
}

TEST(LogFiles, AShortGapIsMarkedInItsOwnLength) {
  const rpc_test::TemporaryFolder folder;
  LogFiles logs(folder.path());
  ASSERT_TRUE(logs.Append(kRank, 0, "one").ok());
  EXPECT_EQ(*logs.Append(kRank, 7, "two"), 10);
  EXPECT_EQ(ReadAll(logs), "one...\ntwo");
}

TEST(LogFiles, BytesBehindOthersThatAreNotStoredAreNotTaken) {
  const rpc_test::TemporaryFolder folder;
  LogFiles logs(folder.path());
  ASSERT_TRUE(logs.Append(kRank, 0, "one").ok());
  const auto refused = logs.Append(kRank, 100, "two", 100);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, base::Code::kConflict);
  EXPECT_EQ(*logs.Append(kRank, 100, "two", 3), 103) << "the worker has told all before";
}

// What a full disk does: files can be made, bytes can't be written.
class FullDisk {
 public:
  FullDisk() {
    std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit none{0, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &none);
  }
  ~FullDisk() { ::setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_;
};

TEST(LogFiles, AFullDiskLeavesNoEmptyFilesAndLosesNothingThatWasStored) {
  const rpc_test::TemporaryFolder folder;
  LogFiles logs(folder.path(), {.rank_bytes = 1000, .segment_bytes = 4});
  ASSERT_TRUE(logs.Append(kRank, 0, "good\n").ok());
  {
    const FullDisk disk;
    for (int64_t i = 0; i < 300; ++i) EXPECT_FALSE(logs.Append(kRank, 5 + i, "x").ok());
  }
  EXPECT_EQ(*logs.Append(kRank, 5, "again\n", 5), 11);
  EXPECT_EQ(ReadAll(logs), "good\nagain\n");
  const std::filesystem::directory_iterator files(folder.path() + "/j7/1");
  EXPECT_EQ(std::distance(begin(files), end(files)), 2);
}

TEST(LogFiles, EmptyFilesOfAnEarlierCoordinatorAreRemovedAndTheGoodOneStays) {
  const rpc_test::TemporaryFolder folder;
  ASSERT_TRUE(LogFiles(folder.path()).Append(kRank, 0, "good\n").ok());
  const std::string of_rank = folder.path() + "/j7/1/3.";
  for (int i = 0; i < 266; ++i) std::ofstream(of_rank + std::to_string(1000 + i) + ".log");
  LogFiles logs(folder.path());
  EXPECT_EQ(*logs.End(kRank), 5);
  EXPECT_EQ(*logs.Append(kRank, 5, "new\n"), 9);
  EXPECT_EQ(ReadAll(logs), "good\nnew\n");
  EXPECT_FALSE(std::filesystem::exists(of_rank + "1000.log"));
}

TEST(LogFiles, AFileThatWasCutOrDeletedIsAGap) {
  const rpc_test::TemporaryFolder folder;
  LogFiles logs(folder.path(), {.rank_bytes = 100'000, .segment_bytes = 1});
  const std::string block(500, 'x');
  for (int64_t i = 0; i < 3; ++i) ASSERT_TRUE(logs.Append(kRank, 500 * i, block).ok());
  std::filesystem::resize_file(folder.path() + "/j7/1/3.log", 0);
  std::filesystem::remove(folder.path() + "/j7/1/3.500.log");
  EXPECT_EQ(ReadAll(logs), GapMark(500) + GapMark(500) + block);
  const std::string later(500, 'y');
  EXPECT_EQ(*logs.Append(kRank, 1500, later, 1500), 2000);
  EXPECT_EQ(ReadAll(logs), GapMark(500) + GapMark(500) + block + later);
}

TEST(LogFiles, AFileThatWasCutOrDeletedBeforeTheStartIsAGap) {
  const std::string block(500, 'x');
  for (const int64_t left : {-1, 0, 200}) {
    const rpc_test::TemporaryFolder folder;
    const std::string middle = folder.path() + "/j7/1/3.500.log";
    const LogFiles::Bounds bounds{.rank_bytes = 100'000, .segment_bytes = 1};
    LogFiles before(folder.path(), bounds);
    for (int64_t i = 0; i < 3; ++i) ASSERT_TRUE(before.Append(kRank, 500 * i, block).ok());
    // One that the worker lost is marked already.
    ASSERT_TRUE(before.Append(kRank, 2000, block, 1500).ok());
    if (left == -1) std::filesystem::remove(middle);
    if (left >= 0) std::filesystem::resize_file(middle, left);
    LogFiles logs(folder.path(), bounds);
    const std::string kept = block.substr(0, std::max<int64_t>(left, 0));
    const std::string all = block + kept + GapMark(500 - std::ssize(kept)) + block;
    EXPECT_EQ(ReadAll(logs), all + GapMark(500) + block) << left;
    std::filesystem::remove(folder.path() + "/j7/1/3.log");
    LogFiles without_first(folder.path(), bounds);
    EXPECT_TRUE(ReadAll(without_first).ends_with(block + GapMark(500) + block));
    EXPECT_EQ(ReadAll(without_first).find("[trainctl"), left > 0 ? 201u : 501u) << "the oldest go";
  }
}

// As people and logrotate's copytruncate do it.
TEST(LogFiles, WhatIsWrittenAfterTheLastFileWasCutOrDeletedLiesBehindTheGap) {
  const std::string block(1000, 'x'), later(500, 'y');
  for (const int64_t left : {-2, -1, 0, 300}) {
    const rpc_test::TemporaryFolder folder;
    const std::string file = folder.path() + "/j7/1/3.log";
    LogFiles logs(folder.path());
    ASSERT_TRUE(logs.Append(kRank, 0, block).ok());
    if (left == -2) std::filesystem::remove_all(folder.path());
    if (left == -1) std::filesystem::remove(file);
    if (left >= 0) std::filesystem::resize_file(file, left);
    EXPECT_EQ(*logs.Append(kRank, 1000, later, 1000), 1500) << left;
    EXPECT_EQ(*logs.Append(kRank, 1000, later, 1000), 1500) << "it is sent again";
    EXPECT_EQ(*logs.Append(kRank, 1500, "end", 1500), 1503);
    const std::string kept = block.substr(0, std::max<int64_t>(left, 0));
    const std::string all = kept + GapMark(1000 - std::ssize(kept)) + later + "end";
    EXPECT_EQ(ReadAll(logs), all);
    LogFiles again(folder.path());
    EXPECT_EQ(*again.End(kRank), 1503);
    EXPECT_EQ(ReadAll(again), all);
  }
}

TEST(LogFiles, BytesThatSomebodyElseAddedAreNotWrittenOver) {
  const rpc_test::TemporaryFolder folder;
  LogFiles logs(folder.path());
  ASSERT_TRUE(logs.Append(kRank, 0, "one ").ok());
  std::ofstream(folder.path() + "/j7/1/3.log", std::ios::app) << "two ";
  EXPECT_EQ(*logs.Append(kRank, 4, "two three", 4), 13);
  EXPECT_EQ(ReadAll(logs), "one two three");
}

TEST(LogFiles, TheNewestBytesAreKeptWithinTheBound) {
  const rpc_test::TemporaryFolder folder;
  LogFiles logs(folder.path(), {.rank_bytes = 100, .segment_bytes = 20});
  std::string all;
  for (int i = 0; i < 100; ++i) {
    const std::string line = "line " + std::to_string(i) + "\n";
    ASSERT_TRUE(logs.Append(kRank, static_cast<int64_t>(all.size()), line).ok());
    all += line;
  }
  const std::string kept = ReadAll(logs);
  EXPECT_LE(kept.size(), 100u);
  EXPECT_GE(kept.size(), 50u);
  EXPECT_TRUE(all.ends_with(kept));
  uintmax_t bytes = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder.path() + "/j7/1"))
    bytes += file.file_size();
  EXPECT_EQ(bytes, kept.size());
  EXPECT_EQ(*logs.End(kRank), static_cast<int64_t>(all.size()));
}

TEST(LogFiles, TheLastLinesAreFound) {
  const rpc_test::TemporaryFolder folder;
  LogFiles logs(folder.path(), {.rank_bytes = 1000, .segment_bytes = 4});
  ASSERT_TRUE(logs.Append(kRank, 0, "one\ntwo\n").ok());
  ASSERT_TRUE(logs.Append(kRank, 8, "three\n").ok());
  const auto tail = [&](int64_t lines) {
    return ReadAll(logs, *LogTailOffset(*logs.SegmentsOf(kRank), lines));
  };
  EXPECT_EQ(tail(1), "three\n");
  EXPECT_EQ(tail(2), "two\nthree\n");
  EXPECT_EQ(tail(3), "one\ntwo\nthree\n");
  EXPECT_EQ(tail(99), "one\ntwo\nthree\n");
  ASSERT_TRUE(logs.Append(kRank, 14, "unfinished").ok());
  EXPECT_EQ(tail(1), "unfinished");
  EXPECT_EQ(tail(2), "three\nunfinished");
}

TEST(LogFiles, LinesAreCountedAcrossBlocks) {
  const rpc_test::TemporaryFolder folder;
  LogFiles logs(folder.path());
  const std::string long_line = std::string(200'000, 'x') + "\n";
  ASSERT_TRUE(logs.Append(kRank, 0, "first\n" + long_line + "last\n").ok());
  EXPECT_EQ(*LogTailOffset(*logs.SegmentsOf(kRank), 1), 6 + 200'001);
  EXPECT_EQ(*LogTailOffset(*logs.SegmentsOf(kRank), 2), 6);
}

TEST(LogFiles, AFolderThatCannotBeWrittenIsAnErrorWithItsName) {
  const rpc_test::TemporaryFolder folder;
  LogFiles logs("/dev/null/logs");
  const auto stored = logs.Append(kRank, 0, "x");
  ASSERT_FALSE(stored.ok());
  EXPECT_NE(stored.error().message.find("/dev/null/logs"), std::string::npos);
}

// No file can be opened.
class NoDescriptors {
 public:
  NoDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit none{0, before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_;
};

TEST(LogFiles, AFolderThatCannotBeReadNowIsNotTakenForEmptyAndLosesNothing) {
  const rpc_test::TemporaryFolder folder;
  ASSERT_TRUE(LogFiles(folder.path()).Append(kRank, 0, "good\n").ok());
  LogFiles logs(folder.path());
  {
    const NoDescriptors none;
    ASSERT_FALSE(logs.End(kRank).ok());
    EXPECT_EQ(logs.End(kRank).error().code, base::Code::kUnavailable);
    for (const int64_t offset : {0, 5}) EXPECT_FALSE(logs.Append(kRank, offset, "other").ok());
    EXPECT_FALSE(logs.Read(kRank, 0, 5).ok());
    EXPECT_FALSE(logs.SegmentsOf(kRank).ok());
    EXPECT_FALSE(logs.LastJob().ok()) << "the numbers of its jobs would be given again";
    EXPECT_FALSE(logs.RemoveSome({7}, 1).ok());
    EXPECT_FALSE(logs.Remove({7}).ok());
  }
  EXPECT_EQ(*logs.End(kRank), 5);
  EXPECT_EQ(logs.LastJob()->value, 7);
  EXPECT_EQ(*logs.Append(kRank, 5, "more\n", 5), 10);
  EXPECT_EQ(ReadAll(logs), "good\nmore\n");
}

TEST(LogFiles, OnlyAFolderThatIsNotThereHoldsNothing) {
  const rpc_test::TemporaryFolder folder;
  LogFiles logs(folder.path());
  EXPECT_EQ(*logs.End(kRank), 0);
  EXPECT_FALSE(*logs.Has({7}));
  std::filesystem::create_symlink("j7", folder.path() + "/j7");  // it leads to itself
  EXPECT_FALSE(LogFiles(folder.path()).End(kRank).ok());
  EXPECT_FALSE(logs.Has({7}).ok());
}

// It came after the folder was read, from whomever.
TEST(LogFiles, ANewSegmentTakesNoOtherFilesPlace) {
  const rpc_test::TemporaryFolder folder;
  LogFiles logs(folder.path());
  EXPECT_EQ(*logs.End(kRank), 0);
  ASSERT_TRUE(LogFiles(folder.path()).Append(kRank, 0, "good\n").ok());
  EXPECT_FALSE(logs.Append(kRank, 0, "other\n").ok());
  EXPECT_EQ(ReadAll(logs), "good\n");
  EXPECT_EQ(*logs.Append(kRank, 5, "more\n", 5), 10);
}

}  // namespace
}  // namespace trainctl::coordinator
