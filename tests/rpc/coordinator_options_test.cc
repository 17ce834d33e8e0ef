// The command line of traincoordinator: users that this host does not know.
#include <gtest/gtest.h>

#include "server/daemon/options.h"

namespace trainctl::rpc_test {
namespace {

// What is printed where the line is refused; empty where it is not.
std::string Refusal(std::vector<const char*> words) {
  words.insert(words.begin(), {"traincoordinator", "--dir", "/nowhere"});
  int exit_code = 0;
  testing::internal::CaptureStderr();
  const auto options =
      coordinator::ParseOptions(static_cast<int>(words.size()), words.data(), &exit_code);
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(exit_code, options ? 0 : 2);
  return text;
}

TEST(CoordinatorOptions, AUserThatIsUnknownIsRefusedByTheOptionsName) {
  EXPECT_EQ(Refusal({"--role", "no-such-user=user"}),
            "traincoordinator: --role 'no-such-user=user': this host has no user 'no-such-user' "
            "(id USER tells); a number is uid:1234\n");
  EXPECT_EQ(Refusal({"--worker-user", "no-such-user"}),
            "traincoordinator: --worker-user 'no-such-user': this host has no user 'no-such-user' "
            "(id USER tells); a number is uid:1234\n");
  EXPECT_EQ(Refusal({"--role", "root=user", "--role", "root=admin"}),
            "traincoordinator: --role 'root=admin': 'root' has a role already: say it once\n");
  EXPECT_EQ(Refusal({"--role", "root=user", "--role", "*=none", "--role", "uid:61001=viewer"}), "");
}

TEST(CoordinatorOptions, BoundsOfAUserAreReadAndCheckedByTheirRange) {
  const std::vector<const char*> words = {
      "traincoordinator",     "--dir",           "/nowhere", "--user-jobs=7",
      "--user-connections=5", "--user-streams=3"};
  int exit_code = 0;
  const auto options =
      coordinator::ParseOptions(static_cast<int>(words.size()), words.data(), &exit_code);
  ASSERT_TRUE(options.has_value());
  EXPECT_EQ(options->bounds.queued_jobs, 7);
  EXPECT_EQ(options->bounds.connections, 5);
  EXPECT_EQ(options->bounds.streams, 3);
  EXPECT_NE(Refusal({"--user-jobs", "0"}).find("--user-jobs"), std::string::npos);
}

}  // namespace
}  // namespace trainctl::rpc_test
