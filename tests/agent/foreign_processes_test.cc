#include "worker/agent/foreign_processes.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <thread>

#include "common/peer/socket_owner.h"

namespace trainctl::agent {
namespace {

constexpr int64_t kHeldBytes = int64_t{1} << 30;  // of the device, by a process
constexpr pid_t kNobody = 0x7FFFFFF0;             // no pid is that large

std::vector<int64_t> PidsOf(const std::vector<job::ForeignProcess>& processes) {
  std::vector<int64_t> pids;
  for (const job::ForeignProcess& process : processes) pids.push_back(process.pid);
  return pids;
}

TEST(ForeignProcesses, AreNamedWithWhoOwnsThem) {
  ForeignProcesses foreign(/*sees_pids_of_the_host=*/true);
  const auto found = foreign.Among({{::getpid(), 3 * kHeldBytes}}, {});
  ASSERT_EQ(found.size(), 1);
  EXPECT_EQ(found[0].pid, ::getpid());
  EXPECT_EQ(found[0].memory_bytes, 3 * kHeldBytes);
  EXPECT_EQ(found[0].user, peer::UserName(::getuid()));
  EXPECT_EQ(found[0].program, "agent_unit_test");
}

// A directory of users (LDAP) that does not answer.
TEST(ForeignProcesses, AUserWhoseNameIsNotToldHasItsNumberAndHoldsNobody) {
  std::promise<void> answers;
  const auto name_of = [gate = answers.get_future().share()](uid_t) -> std::string {
    gate.wait();
    return "anna";
  };
  ForeignProcesses foreign(true, name_of, std::chrono::milliseconds(1));
  const auto user = [&] {
    return foreign.Among({{::getpid(), kHeldBytes}, {::getppid(), kHeldBytes}}, {})[0].user;
  };
  EXPECT_EQ(user(), "uid:" + std::to_string(::getuid()));
  EXPECT_EQ(user(), "uid:" + std::to_string(::getuid())) << "it is asked once only";
  answers.set_value();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (user() != "anna" && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  EXPECT_EQ(user(), "anna");
}

TEST(ForeignProcesses, AreNeitherOurRanksNorEnded) {
  ForeignProcesses foreign(true);
  const OwnProcesses own{.rank_runs = true, .pids = {::getpid()}};
  EXPECT_EQ(PidsOf(foreign.Among(
                {{::getpid(), kHeldBytes}, {kNobody, kHeldBytes}, {::getppid(), kHeldBytes}}, own)),
            std::vector<int64_t>{::getppid()});
}

TEST(ForeignProcesses, ARankWhosePidIsNotKnownYetMayBeEachOfThem) {
  ForeignProcesses foreign(true);
  EXPECT_TRUE(foreign.Among({{::getppid(), kHeldBytes}}, {.rank_runs = true}).empty());
}

TEST(ForeignProcesses, ThoseThatHoldMostComeFirstAndAreBounded) {
  ForeignProcesses foreign(false);
  std::vector<GpuProcess> many;
  for (int64_t i = 1; i <= 100; ++i) many.push_back({.pid = i, .memory_bytes = i});
  const auto found = foreign.Among(many, {});
  EXPECT_EQ(found.size(), job::kMaxForeignProcesses);
  EXPECT_EQ(found.front().pid, 100);
}

// Inside a container the pids of the host may be those of others.
TEST(ForeignProcesses, PidsThatMayBeOthersAreNotNamed) {
  ForeignProcesses foreign(false);
  const auto found = foreign.Among({{::getpid(), kHeldBytes}, {kNobody, kHeldBytes}}, {});
  ASSERT_EQ(found.size(), 2);
  EXPECT_EQ(found[0].user, "");
  EXPECT_EQ(found[0].program, "");
  EXPECT_TRUE(
      foreign.Among({{::getppid(), kHeldBytes}}, {.rank_runs = true, .pids = {::getpid()}}).empty())
      << "it may be our rank by another pid";
  const auto beside = foreign.Among({{::getppid(), kHeldBytes}, {::getpid(), kHeldBytes}},
                                    {.rank_runs = true, .pids = {::getpid()}});
  ASSERT_EQ(PidsOf(beside), std::vector<int64_t>{::getppid()})
      << "our rank's own pid is among them";
  EXPECT_NE(beside[0].user, "");
}

}  // namespace
}  // namespace trainctl::agent
