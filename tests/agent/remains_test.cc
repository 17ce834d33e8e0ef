#include "worker/agent/remains.h"
#include "common/base/boot_id.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "worker/shim/process_table.h"

namespace trainctl::agent {
namespace {

// A process of this test that waits; reaped with it.
class Child {
 public:
  explicit Child(bool leads_session) : pid_(::fork()) {
    if (pid_ != 0) return;
    if (leads_session) ::setsid();
    for (;;) ::pause();
  }
  ~Child() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }
  shim::PidRecord Record() const {
    return {.pid = pid_, .start_time = shim::ReadStat(pid_)->start_time, .boot_id = base::BootId()};
  }
  // Waits for its end, which stays to be reaped.
  int AwaitEnd() const {
    siginfo_t info;
    ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT);
    return info.si_status;
  }

 private:
  pid_t pid_;
};

TEST(EndRemains, EndsTheRank) {
  const Child rank(false);
  EXPECT_THAT(EndRemains(rank.Record()), testing::ElementsAre(rank.pid()));
  EXPECT_EQ(rank.AwaitEnd(), SIGKILL);
  EXPECT_THAT(EndRemains(rank.Record()), testing::IsEmpty()) << "a zombie has ended";
}

TEST(EndRemains, NeverTouchesAnotherProcessWithItsId) {
  const Child stranger(false);
  shim::PidRecord record = stranger.Record();
  record.start_time -= 1;
  EXPECT_THAT(EndRemains(record), testing::IsEmpty());
  EXPECT_FALSE(shim::ReadStat(stranger.pid())->ended());
}

TEST(EndRemains, NeverTouchesASessionThatGotTheShimsNumber) {
  const Child stranger(true);
  shim::PidRecord record{
      .pid = 999'999'999, .start_time = 0, .session = stranger.pid(), .boot_id = base::BootId()};
  EXPECT_THAT(EndRemains(record), testing::IsEmpty());
  EXPECT_FALSE(shim::ReadStat(stranger.pid())->ended());
}

TEST(EndRemains, ABootEndsEverything) {
  const Child stranger(false);
  shim::PidRecord record = stranger.Record();
  record.boot_id = "another";
  EXPECT_THAT(EndRemains(record), testing::IsEmpty());
  EXPECT_FALSE(shim::ReadStat(stranger.pid())->ended());
}

}  // namespace
}  // namespace trainctl::agent
