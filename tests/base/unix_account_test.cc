#include "common/base/unix_account.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace trainctl::base {
namespace {

TEST(UnixAccount, RootTheSystemsOwnAndUnknownOnesAreRefused) {
  EXPECT_EQ(FindAccount("root").error().message,
            "user 'root' is root (uid 0): only accounts from 1000 on run jobs");
  EXPECT_EQ(FindAccount("daemon").error().code, Code::kDenied);
  EXPECT_EQ(FindAccount("no-such-user").error().message,
            "user 'no-such-user' has no account on this host");
  EXPECT_EQ(FindAccount("").error().code, Code::kDenied);
}

// What a child that becomes nobody, or takes its rights to files alone, is then.
TEST(UnixAccount, WhoHasBecomeAnotherIsRootNoMore) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become others";
  const auto nobody = FindAccount("nobody");
  ASSERT_TRUE(nobody) << nobody.error().message;
  EXPECT_TRUE(CheckMayBecomeOthers()) << CheckMayBecomeOthers().error().message;
  const pid_t child = ::fork();
  if (child == 0) {
    const bool closed = BecomeForFiles(*nobody) && ::open("/etc/shadow", O_RDONLY) < 0;
    const bool became = closed && ::geteuid() == 0 && Become(*nobody);
    ::_exit(became && ::getuid() == nobody->user && ::getegid() == nobody->group &&
                    !CheckMayBecomeOthers() && ::setuid(0) != 0
                ? 0
                : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace trainctl::base
