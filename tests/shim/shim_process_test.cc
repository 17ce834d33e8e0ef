// The shim as a program: real processes, real signals.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>

#include <filesystem>
#include <fstream>

#include "tests/shim/shim_under_test.h"
#include "worker/shim/cgroup_leaf.h"
#include "worker/shim/log_file.h"
#include "worker/shim/process_table.h"
#include "worker/shim/spool.h"

namespace trainctl::tests {
namespace {

using shim::Descriptor;
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
  EXPECT_EQ(exit["boot_id"], shim::BootId());
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

INSTANTIATE_TEST_SUITE_P(Cgroups, ShimTree, testing::Values("own", "none"), [](const auto& cgroup) { return cgroup.param; });

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

TEST(ShimProcess, KeepsAFloodedLogWithinItsBoundAndKnowsItsWholeLength) {
  constexpr int64_t kBytes = 20'000'000, kLimit = 1'000'000;
  ShimUnderTest shim("flood 20000000; exit 0", {.arguments = {"--log-limit", std::to_string(kLimit) + "B"}});
  EXPECT_EQ(shim.Wait(), 0);
  int64_t kept = 0;
  for (const auto& segment : shim::ListSegments(shim.folder(), "rank.log")) kept += segment.bytes;
  EXPECT_LE(kept, kLimit);
  EXPECT_GT(kept, kLimit / 2);
  const auto newest = shim::ListSegments(shim.folder(), "rank.log").back();
  EXPECT_EQ(newest.start + newest.bytes, kBytes);
  EXPECT_THAT(shim::ReadLog(shim.folder(), 0, 14).data, "line 0\nline 1\n");
}

TEST(ShimProcess, DropsOnlyWhatMayBeLostWhenTheSpoolIsFull) {
  ShimUnderTest shim("messages 5000 metrics; message {\"type\":\"saved\"}; message {\"type\":\"outcome\"}; exit 0",
                     {.arguments = {"--spool-limit", "8KiB"}});
  EXPECT_EQ(shim.Wait(), 0);
  int64_t metrics = 0, dropped = 0;
  std::vector<std::string> others;
  for (const auto& message : shim.Messages()) {
    if (message["type"] == "metrics") ++metrics;
    else if (message["type"] == "dropped") dropped += message["messages"].get<int64_t>();
    else others.push_back(message["type"]);
  }
  EXPECT_EQ(metrics + dropped, 5000);
  EXPECT_GT(dropped, 4000);
  EXPECT_THAT(others, testing::ElementsAre("saved", "outcome"));
}

TEST(ShimProcess, CountsAMessageThatIsTooLong) {
  ShimUnderTest shim("overlong 2000000; message {\"type\":\"outcome\"}; exit 0");
  EXPECT_EQ(shim.Wait(), 0);
  EXPECT_THAT(shim.Messages(), testing::UnorderedElementsAre(nlohmann::json{{"type", "outcome"}},
                                                             nlohmann::json{{"type", "dropped"}, {"messages", 1}}));
}

TEST(ShimProcess, WorksInAFolderWhosePathIsLongerThanASocketsName) {
  ShimUnderTest shim("command; exit 0", {.subfolder = std::string(120, 'a') + "/" + std::string(120, 'b')});
  const Descriptor worker = shim.Connect();
  ShimUnderTest::Send(worker, "x");
  EXPECT_EQ(shim.Wait(), 0);
  EXPECT_EQ(shim.Exit()["exit_code"], 0);
}

TEST(ShimProcess, PassesCommandsToTheRankAsTheyAre) {
  ShimUnderTest shim("command; command; exit 0");
  const Descriptor worker = shim.Connect();
  ShimUnderTest::Send(worker, R"({"type":"peers","blob":"ab"})");
  ShimUnderTest::Send(worker, "{}");
  EXPECT_EQ(shim.Wait(), 0);
  ASSERT_EQ(shim.Messages().size(), 2u);
  EXPECT_EQ(shim.Messages()[0]["commit"], "7b2274797065223a227065657273222c22626c6f62223a226162227d");
  EXPECT_EQ(shim.Messages()[1]["commit"], "7b7d");
}

TEST(ShimProcess, TheNewestWorkerWinsAndMissesNothing) {
  ShimUnderTest shim("messages 3 saved; command; messages 2 saved; command; exit 0");
  const Descriptor first = shim.Connect();
  ShimUnderTest::AwaitMessages(first, 3);
  const Descriptor second = shim.Connect();
  ShimUnderTest::AwaitMessages(second, 3);
  char byte = 0;
  EXPECT_EQ(::read(first.get(), &byte, 1), 0) << "the older connection is closed";
  ShimUnderTest::Send(second, "{}");
  ShimUnderTest::AwaitMessages(second, 6);
  ShimUnderTest::Send(second, "{}");
  EXPECT_EQ(shim.Wait(), 0);
  EXPECT_EQ(shim.Messages().size(), 7u);
}

TEST(ShimProcess, AWorkersMetricsAreNumberedWithTheRanksOwnMessages) {
  ShimUnderTest shim("messages 1 saved; command; messages 1 saved; exit 0");
  const Descriptor worker = shim.Connect();
  ShimUnderTest::AwaitMessages(worker, 1);
  ShimUnderTest::Send(worker, R"({"type":"metrics","points":[]})");
  ShimUnderTest::Send(worker, "{}");
  EXPECT_EQ(shim.Wait(), 0);
  std::vector<std::string> types;
  for (const auto& message : shim.Messages()) types.push_back(message["type"]);
  EXPECT_THAT(types, testing::ElementsAre("saved", "metrics", "started", "saved"));
}

TEST(ShimProcess, ForgetsMessagesThatAreStored) {
  ShimUnderTest shim("messages 300 saved; command; wait", {.arguments = {"--spool-limit", "16KiB"}});
  const Descriptor worker = shim.Connect();
  ShimUnderTest::AwaitMessages(worker, 300);
  ShimUnderTest::Send(worker, R"({"type":"stored","sequence":299})");
  ShimUnderTest::Send(worker, "{}");
  ShimUnderTest::AwaitMessages(worker, 301);
  EXPECT_GT(shim::ListSegments(shim.folder(), "spool.jsonl").front().start, 200);
  shim::SpoolReader reader(shim.folder());
  reader.Seek(300);
  EXPECT_EQ(nlohmann::json::parse(reader.Next()->text)["n"], 300);
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
  EXPECT_EQ(shim::ReadLog(shim.folder(), 0, 100).data, "0\n1\n2\n3\n4\n5\n") << "5 is ls's own view of the folder";
}

TEST(ShimProcess, SaysOnTheSocketThatItEnds) {
  ShimUnderTest shim("command; exit 0");
  const Descriptor worker = shim.Connect();
  ShimUnderTest::Send(worker, "{}");
  EXPECT_EQ(shim.Wait(), 0);
  std::string text(4096, '\0');
  std::string all;
  for (ssize_t got; (got = ::read(worker.get(), text.data(), text.size())) > 0;) all.append(text, 0, static_cast<size_t>(got));
  EXPECT_THAT(all, HasSubstr("{\"type\":\"exit\"}\n"));
}

TEST(ShimProcess, HelpAndWrongCommandLines) {
  ShimUnderTest help("", {.arguments = {"--help"}});
  EXPECT_EQ(help.Wait(), 0);
  ShimUnderTest unknown("", {.arguments = {"--wrong", "1"}});
  EXPECT_EQ(unknown.Wait(), 2);
}

}  // namespace
}  // namespace trainctl::tests
