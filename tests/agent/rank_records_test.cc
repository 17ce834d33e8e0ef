#include "worker/agent/rank_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/shim/temp_folder.h"
#include "worker/shim/log_file.h"

namespace trainctl::agent {
namespace {

TEST(RankRecords, ReadBackWhatTheShimWrites) {
  const tests::TempFolder folder;
  EXPECT_FALSE(ReadPidRecord(folder.path()));
  ASSERT_TRUE(shim::Write(folder.path(), shim::PidRecord{7, 8, 9, "boot", "/sys/fs/cgroup/a\"b"}));
  const auto pid = ReadPidRecord(folder.path());
  ASSERT_TRUE(pid);
  EXPECT_EQ(pid->pid, 7);
  EXPECT_EQ(pid->start_time, 8u);
  EXPECT_EQ(pid->session, 9);
  EXPECT_EQ(pid->boot_id, "boot");
  EXPECT_EQ(pid->cgroup, "/sys/fs/cgroup/a\"b");

  EXPECT_FALSE(ReadExitRecord(folder.path()));
  const shim::ExitRecord written = {
      .signal = 9, .oom_killed = true, .leftover_pids = {1, 2}, .boot_id = "boot", .ended_at = 5};
  ASSERT_TRUE(shim::Write(folder.path(), written));
  const auto exit = ReadExitRecord(folder.path());
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->exit_code, std::nullopt);
  EXPECT_EQ(exit->signal, 9);
  EXPECT_TRUE(exit->oom_killed);
  EXPECT_THAT(exit->leftover_pids, testing::ElementsAre(1, 2));
  EXPECT_EQ(exit->ended_at, 5);
}

TEST(RankRecords, DamagedRecordsAreNone) {
  const tests::TempFolder folder;
  for (const char* text : {"", "{", "[]", "{\"pid\":\"x\"}", "{\"pid\":0}"}) {
    std::ofstream(folder.path() + "/rank.pid") << text;
    EXPECT_FALSE(ReadPidRecord(folder.path())) << text;
  }
  std::ofstream(folder.path() + "/exit.json") << "{\"exit_co";
  EXPECT_FALSE(ReadExitRecord(folder.path()));
}

TEST(RankRecords, RanksAreFoundByTheirFolders) {
  const tests::TempFolder folder;
  const job::RankKey key{base::JobId{12}, 3, 4};
  EXPECT_EQ(RankFolder("/w", key), "/w/ranks/j12-3-4");
  EXPECT_THAT(FindRanks(folder.path()), testing::IsEmpty());
  for (const char* name : {"j12-3-4", "j2-1-0", "j2-1", "x2-1-0", "j2-1-x", "-1-0", "j2--1-0"}) {
    std::filesystem::create_directories(folder.path() + "/ranks/" + name);
  }
  EXPECT_THAT(FindRanks(folder.path()),
              testing::ElementsAre(job::RankKey{base::JobId{2}, 1, 0}, key));
}

TEST(ToReport, TellsTheEndWithTheLastLines) {
  const tests::TempFolder folder;
  shim::LogFile log(folder.path(), {});
  for (int i = 0; i < 30; ++i) log.Append("line " + std::to_string(i) + "\n");
  const auto exit = std::get<job::RankExit>(ToReport({.exit_code = 3}, folder.path()));
  EXPECT_EQ(exit.exit_code, 3);
  EXPECT_TRUE(exit.last_log_lines.starts_with("line 10\n")) << exit.last_log_lines;
  EXPECT_EQ(std::get<job::LaunchFailure>(ToReport({.launch_error = "no"}, folder.path())).message,
            "no");
  EXPECT_EQ(std::get<job::RankExit>(ToReport({.leftover_pids = {5}}, folder.path())).signal, 9)
      << "one of both is always set";
}

}  // namespace
}  // namespace trainctl::agent
