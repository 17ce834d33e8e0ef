// The shim as a program: how a rank starts and ends. Real processes, real signals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>

#include "common/base/boot_id.h"
#include "tests/shim/gate.h"
#include "tests/shim/shim_under_test.h"
#include "tests/shim/temp_folder.h"
#include "worker/shim/log_file.h"
#include "worker/shim/process_table.h"
#include "worker/shim/spool.h"

namespace trainctl::tests {
namespace {

using base::Descriptor;
using testing::HasSubstr;

constexpr char kStarted[] = "message {\"type\":\"started\"}; ";

pid_t RankPid(const ShimUnderTest& shim) {
  std::ifstream file(shim.folder() + "/rank.pid");
  return nlohmann::json::parse(file)["pid"];
}

TEST(ShimProcess, RecordsTheExitCode) {
  ShimUnderTest shim("print hello; exit 7");
  EXPECT_EQ(shim.Wait(), 0);
  const auto exit = shim.Exit();
  EXPECT_EQ(exit["exit_code"], 7);
  EXPECT_FALSE(exit.contains("signal"));
  EXPECT_FALSE(exit.contains("oom_killed"));
  EXPECT_EQ(exit["boot_id"], base::BootId());
  EXPECT_EQ(shim::ReadLog(shim.folder(), 0, 100).data, "hello\n");
}

TEST(ShimProcess, RecordsTheSignal) {
  ShimUnderTest shim("signal 11");
  EXPECT_EQ(shim.Wait(), 0);
  EXPECT_EQ(shim.Exit()["signal"], SIGSEGV);
  EXPECT_FALSE(shim.Exit().contains("exit_code"));
}

TEST(ShimProcess, RecordsWhyAProgramCannotRun) {
  ShimUnderTest shim("", {.command = {"/no/such/trainrank"}});
  EXPECT_EQ(shim.Wait(), 0);
  EXPECT_THAT(shim.Exit()["launch_error"], HasSubstr("/no/such/trainrank: No such file"));
  EXPECT_FALSE(shim.Exit().contains("exit_code"));
}

TEST(ShimProcess, RecordsWhichPathIsMissing) {
  ShimUnderTest shim("exit 0", {.arguments = {"--host", "gpu1", "--needs", "data.path=/", "--needs",
                                              "model.path=/no/such/model"}});
  EXPECT_EQ(shim.Wait(), 0);
  EXPECT_THAT(shim.Exit()["launch_error"],
              HasSubstr("host gpu1: no /no/such/model (model.path): No such file"));
  EXPECT_FALSE(shim.Exit().contains("exit_code"));
}

TEST(ShimProcess, CanBeTerminatedWhileAPathHangs) {
  const TempFolder folder;
  const HungMount mount(folder.path());
  if (!mount.mounted()) GTEST_SKIP() << "no file system can be mounted here";
  ShimUnderTest shim("exit 0", {.arguments = {"--needs", "model.path=" + mount.Inside()}});
  const Descriptor worker = shim.Connect();
  ShimUnderTest::Send(worker, R"({"type":"terminate","grace_seconds":30})");
  EXPECT_EQ(shim.Wait(), 0);
  EXPECT_EQ(shim.Exit()["signal"], SIGTERM);
}

TEST(ShimProcess, ARankThatHasSaidItsOutcomeIsNotCutOff) {
  const TempFolder folder;
  Gate gate(folder.path() + "/gate");
  ShimUnderTest shim("message {\"type\":\"outcome\"}; gate " + gate.path() +
                     "; print the last line; exit 1");
  const Descriptor worker = shim.Connect();
  ShimUnderTest::AwaitMessages(worker, 1);
  ShimUnderTest::Send(worker, R"({"type":"terminate","grace_seconds":30})");
  ShimUnderTest::AwaitLine(worker, "terminating");
  gate.Open();
  EXPECT_EQ(shim.Wait(), 0);
  EXPECT_EQ(shim.Exit()["exit_code"], 1);
  EXPECT_EQ(shim::LogTail(shim.folder(), 5), "the last line\n");
}

TEST(ShimProcess, WhatARankLeavesBehindMayWriteOnForAMoment) {
  ShimUnderTest shim("", {.command = {"/bin/sh", "-c",
                                      "(while kill -0 $$ 2>/dev/null; do :; done; echo late) &"
                                      " echo early"}});
  EXPECT_EQ(shim.Wait(), 0);
  EXPECT_EQ(shim.Exit()["exit_code"], 0);
  EXPECT_EQ(shim::LogTail(shim.folder(), 5), "early\nlate\n");
}

TEST(ShimProcess, AFullDiskLosesNeitherTheEndNorTheOutcome) {
  const TempFolder folder;
  Gate gate(folder.path() + "/gate");
  ShimUnderTest shim("started here; gate " + gate.path() +
                         "; print last words; message {\"type\":\"outcome\"}; exit 0",
                     {.subfolder = "disk", .disk_kib = 512});
  if (!shim.disk().mounted()) GTEST_SKIP() << "no file system can be mounted here";
  const Descriptor worker = shim.Connect();
  ShimUnderTest::AwaitMessages(worker, 1);
  shim.disk().Fill();
  gate.Open();
  EXPECT_EQ(shim.Wait(), 0);
  EXPECT_EQ(shim.Exit()["exit_code"], 0);
  ASSERT_EQ(shim.Messages().size(), 2u);
  EXPECT_EQ(shim.Messages()[1]["type"], "outcome");
  EXPECT_EQ(shim::LogTail(shim.folder(), 5), "last words\n");
}

// More of what may be lost waits than there is room for at the end.
TEST(ShimProcess, AFullDiskLosesMetricsBeforeTheOutcome) {
  const TempFolder folder;
  Gate gate(folder.path() + "/gate");
  ShimUnderTest shim("started here; gate " + gate.path() +
                         "; messages 4000 metrics; message {\"type\":\"outcome\"}; exit 0",
                     {.subfolder = "disk", .disk_kib = 512});
  if (!shim.disk().mounted()) GTEST_SKIP() << "no file system can be mounted here";
  const Descriptor worker = shim.Connect();
  ShimUnderTest::AwaitMessages(worker, 1);
  shim.disk().Fill();
  gate.Open();
  EXPECT_EQ(shim.Wait(), 0);
  const std::vector<nlohmann::json> messages = shim.Messages();
  ASSERT_GE(messages.size(), 3u);
  const nlohmann::json& outcome = messages[messages.size() - 2];
  EXPECT_EQ(outcome["type"], "outcome");
  EXPECT_EQ(messages.back()["type"], "dropped");
  EXPECT_EQ(messages.back()["messages"].get<size_t>() + messages.size(), 4003u);
}

TEST(ShimProcess, ADiskThatIsFullForAWhileLosesNoMessage) {
  const TempFolder folder;
  Gate gate(folder.path() + "/gate");
  ShimUnderTest shim("started here; gate " + gate.path() + "; messages 900 saved; wait",
                     {.subfolder = "disk", .disk_kib = 512});
  if (!shim.disk().mounted()) GTEST_SKIP() << "no file system can be mounted here";
  const Descriptor worker = shim.Connect();
  ShimUnderTest::AwaitMessages(worker, 1);
  shim.disk().Fill();
  gate.Open();
  ShimUnderTest::AwaitMessages(worker, 901);
  EXPECT_LT(shim.Messages().size(), 901u);
  shim.disk().Empty();
  shim::SpoolReader reader(shim.folder());
  EXPECT_TRUE(Becomes([&] {
    while (reader.Next()) {
    }
    return reader.next_sequence() == 902;
  })) << "though nothing more is said";
}

TEST(ShimProcess, NamesTheRankOnRecordBeforeItRuns) {
  ShimUnderTest shim(std::string(kStarted) + "wait");
  const Descriptor worker = shim.Connect();
  ShimUnderTest::AwaitMessages(worker, 1);
  const pid_t pid = RankPid(shim);
  const auto stat = shim::ReadStat(pid);
  ASSERT_TRUE(stat);
  std::ifstream file(shim.folder() + "/rank.pid");
  const auto record = nlohmann::json::parse(file);
  EXPECT_EQ(record["start_time"], stat->start_time);
  EXPECT_EQ(stat->parent, shim.pid());
  EXPECT_EQ(stat->group, pid);
}

TEST(ShimProcess, RunsAFolderOnlyOnce) {
  ShimUnderTest shim("exit 0");
  EXPECT_EQ(shim.Wait(), 0);
  ShimUnderTest again("exit 0", {.arguments = {"--dir", shim.folder()}});
  EXPECT_EQ(again.Wait(), 3);
}

TEST(ShimProcess, LocksItsFolder) {
  ShimUnderTest shim(std::string(kStarted) + "wait");
  const Descriptor worker = shim.Connect();
  ShimUnderTest second("exit 0", {.arguments = {"--dir", shim.folder()}});
  EXPECT_EQ(second.Wait(), 3);
}

TEST(ShimProcess, TerminateEndsTheRankBySigterm) {
  ShimUnderTest shim(std::string(kStarted) + "wait");
  const Descriptor worker = shim.Connect();
  ShimUnderTest::AwaitMessages(worker, 1);
  ShimUnderTest::Send(worker, R"({"type":"terminate","grace_seconds":60})");
  EXPECT_EQ(shim.Wait(), 0);
  EXPECT_EQ(shim.Exit()["signal"], SIGTERM);
}

TEST(ShimProcess, KillsARankThatIgnoresSigtermAfterTheGrace) {
  ShimUnderTest shim("ignore-term; message {\"type\":\"started\"}; wait");
  const Descriptor worker = shim.Connect();
  ShimUnderTest::AwaitMessages(worker, 1);
  ShimUnderTest::Send(worker, R"({"type":"terminate","grace_seconds":0.05})");
  EXPECT_EQ(shim.Wait(), 0);
  EXPECT_EQ(shim.Exit()["signal"], SIGKILL);
  EXPECT_FALSE(shim.Exit().contains("oom_killed"));
}

TEST(ShimProcess, ASecondTerminateShortensTheGrace) {
  ShimUnderTest shim("ignore-term; message {\"type\":\"started\"}; wait");
  const Descriptor worker = shim.Connect();
  ShimUnderTest::AwaitMessages(worker, 1);
  ShimUnderTest::Send(worker, R"({"type":"terminate","grace_seconds":3000})");
  ShimUnderTest::Send(worker, R"({"type":"terminate","grace_seconds":0})");
  EXPECT_EQ(shim.Wait(), 0);
  EXPECT_EQ(shim.Exit()["signal"], SIGKILL);
}

// With a cgroup leaf where this machine allows one, and without.
class ShimTree : public testing::TestWithParam<std::string> {};

TEST_P(ShimTree, GrandchildrenEndWithTheRank) {
  ShimUnderTest::Options options;
  if (GetParam() == "none") options.arguments = {"--cgroup", "none"};
  ShimUnderTest shim("grandchild; command; exit 0", options);
  const Descriptor worker = shim.Connect();
  ShimUnderTest::AwaitMessages(worker, 1);
  const pid_t grandchild = std::stoi(shim.Messages().at(0)["path"].get<std::string>());
  ASSERT_TRUE(shim::ReadStat(grandchild));
  ShimUnderTest::Send(worker, R"({"type":"peers"})");
  EXPECT_EQ(shim.Wait(), 0);
  EXPECT_EQ(shim.Exit()["exit_code"], 0);
  EXPECT_FALSE(shim::ReadStat(grandchild)) << "exit.json was written before the tree was gone";
}

TEST_P(ShimTree, GrandchildrenEndOnTerminate) {
  ShimUnderTest::Options options;
  if (GetParam() == "none") options.arguments = {"--cgroup", "none"};
  ShimUnderTest shim("grandchild; wait", options);
  const Descriptor worker = shim.Connect();
  ShimUnderTest::AwaitMessages(worker, 1);
  const pid_t grandchild = std::stoi(shim.Messages().at(0)["path"].get<std::string>());
  ShimUnderTest::Send(worker, R"({"type":"terminate","grace_seconds":60})");
  EXPECT_EQ(shim.Wait(), 0);
  EXPECT_FALSE(shim::ReadStat(grandchild));
}

INSTANTIATE_TEST_SUITE_P(Cgroups, ShimTree, testing::Values("own", "none"),
                         [](const auto& cgroup) { return cgroup.param; });

TEST(ShimProcess, AKilledShimTakesItsRankAlong) {
  ShimUnderTest shim(std::string(kStarted) + "ignore-term; wait");
  const Descriptor worker = shim.Connect();
  ShimUnderTest::AwaitMessages(worker, 1);
  const pid_t rank = RankPid(shim);
  ::kill(shim.pid(), SIGKILL);
  EXPECT_EQ(shim.Wait(), 128 + SIGKILL);
  EXPECT_TRUE(Ends(rank));
  EXPECT_FALSE(std::filesystem::exists(shim.folder() + "/exit.json"));
}

TEST(ShimProcess, IgnoresTheSignalsOfATerminalAndHandlesSigterm) {
  ShimUnderTest shim(std::string(kStarted) + "wait");
  const Descriptor worker = shim.Connect();
  ShimUnderTest::AwaitMessages(worker, 1);
  ::kill(shim.pid(), SIGINT);
  ::kill(shim.pid(), SIGHUP);
  ShimUnderTest::Send(worker, R"({"type":"metrics"})");
  ShimUnderTest::AwaitMessages(worker, 2);
  ::kill(shim.pid(), SIGTERM);
  EXPECT_EQ(shim.Wait(), 0);
  EXPECT_EQ(shim.Exit()["signal"], SIGTERM);
}

TEST(ShimProcess, WorksInAFolderWhosePathIsLongerThanASocketsName) {
  ShimUnderTest shim("command; exit 0",
                     {.subfolder = std::string(120, 'a') + "/" + std::string(120, 'b')});
  const Descriptor worker = shim.Connect();
  ShimUnderTest::Send(worker, "x");
  EXPECT_EQ(shim.Wait(), 0);
  EXPECT_EQ(shim.Exit()["exit_code"], 0);
}

TEST(ShimProcess, TheRanksEnvironmentPassesAsItIs) {
  ::setenv("SHIM_TEST_VALUE", "grüße", 1);
  ShimUnderTest shim("environment SHIM_TEST_VALUE; exit 0");
  EXPECT_EQ(shim.Wait(), 0);
  EXPECT_EQ(shim::ReadLog(shim.folder(), 0, 100).data, "grüße\n");
}

TEST(ShimProcess, TheRankHasItsOwnDescriptorsAndNoOthers) {
  ShimUnderTest shim("", {.command = {"/bin/sh", "-c", "exec ls /proc/self/fd"}});
  EXPECT_EQ(shim.Wait(), 0);
  EXPECT_EQ(shim::ReadLog(shim.folder(), 0, 100).data, "0\n1\n2\n3\n4\n5\n")
      << "5 is ls's own view of the folder";
}

TEST(ShimProcess, HelpAndWrongCommandLines) {
  ShimUnderTest help("", {.arguments = {"--help"}});
  EXPECT_EQ(help.Wait(), 0);
  ShimUnderTest unknown("", {.arguments = {"--wrong", "1"}});
  EXPECT_EQ(unknown.Wait(), 2);
}

}  // namespace
}  // namespace trainctl::tests
