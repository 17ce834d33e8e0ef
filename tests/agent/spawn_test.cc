#include "worker/agent/spawn.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include "common/base/file.h"
#include "tests/shim/temp_folder.h"

namespace trainctl::agent {
namespace {

int ExitStatus(pid_t pid) {
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Spawn, RunsAProgramInASessionOfItsOwn) {
  const tests::TempFolder folder;
  const std::string output = folder.path() + "/output";
  const auto pid =
      Spawn({.arguments = {"/bin/sh", "-c", "cat; echo $A; ps -o sid= -p $$ >&2; exit 3"},
             .environment = {"A=b", "PATH=/bin:/usr/bin"},
             .output_path = output});
  ASSERT_TRUE(pid) << pid.error().message;
  EXPECT_EQ(ExitStatus(*pid), 3);
  EXPECT_THAT(*base::ReadFile(output, 1000),
              testing::AllOf(testing::StartsWith("b\n"), testing::HasSubstr(std::to_string(*pid))));
}

TEST(Spawn, SaysThatThereIsNoSuchProgram) {
  const auto pid = Spawn({.arguments = {"/no/such/program"}, .output_path = "/dev/null"});
  ASSERT_FALSE(pid);
  EXPECT_EQ(pid.error().code, base::Code::kNotFound);
}

TEST(WithVariables, ReplacesByName) {
  EXPECT_THAT(WithVariables({"A=1", "AB=2", "C=3"}, {"A=4", "D="}),
              testing::UnorderedElementsAre("AB=2", "C=3", "A=4", "D="));
}

}  // namespace
}  // namespace trainctl::agent
