#include "worker/shim/process_table.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

namespace trainctl::shim {
namespace {

TEST(ParseStat, ReadsNamesThatHoldParentheses) {
  const auto stat = ParseStat(
      "42 (a) R 1 (b)) S 7 8 9 0 -1 4194560 1 2 3 4 10 20 5 6 20 0 1 0 12345 99999 321 "
      "18446744073709551615 1");
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->pid, 42);
  EXPECT_EQ(stat->state, 'S');
  EXPECT_EQ(stat->parent, 7);
  EXPECT_EQ(stat->group, 8);
  EXPECT_EQ(stat->session, 9);
  EXPECT_EQ(stat->cpu_ticks, 30u);
  EXPECT_EQ(stat->start_time, 12345u);
  EXPECT_EQ(stat->resident_pages, 321);
  EXPECT_FALSE(ParseStat("42 (truncated) S 7"));
}

TEST(ProcessTable, SignalsOnlyTheProcessThatIsMeant) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (;;) ::pause();
  }
  ProcessStat stat = *ReadStat(child);
  const auto descendants = Descendants(::getpid());
  EXPECT_TRUE(std::ranges::any_of(descendants,
                                  [&](const ProcessStat& found) { return found.pid == child; }));
  ProcessStat another = stat;
  another.start_time += 1;
  EXPECT_FALSE(Signal(another, SIGKILL));
  EXPECT_TRUE(Signal(stat, SIGKILL));
  siginfo_t info;
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_TRUE(ReadStat(child)->ended()) << "a zombie has ended";
  EXPECT_FALSE(Signal(stat, SIGKILL));
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(ReadStat(child));
}

}  // namespace
}  // namespace trainctl::shim
