#include "client/run_program.h"

#include <gtest/gtest.h>

namespace trainctl::client {
namespace {

TEST(RunToEnd, GivesInputAndTakesOutputAndExitCode) {
  const base::Result<ProgramOutput> output = RunToEnd({"/bin/sh", "-c", "cat; exit 3"}, "hello");
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(output->out, "hello");
  EXPECT_EQ(output->exit_code, 3);
}

TEST(RunToEnd, AProgramThatDoesNotReadItsInputIsNoHarm) {
  const base::Result<ProgramOutput> output = RunToEnd({"/bin/true"}, "unread");
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(output->exit_code, 0);
}

TEST(RunToEnd, ASignalIs128More) {
  const base::Result<ProgramOutput> output = RunToEnd({"/bin/sh", "-c", "kill -9 $$"}, "");
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(output->exit_code, 137);
}

TEST(RunToEnd, AMissingProgramIsNotFound) {
  EXPECT_EQ(RunToEnd({"/no/such/program"}, "").error().code, base::Code::kNotFound);
}

TEST(RunToEnd, InputThatDoesNotFitAPipeIsAnError) {
  EXPECT_EQ(RunToEnd({"/bin/cat"}, std::string(1 << 20, 'x')).error().code, base::Code::kExhausted);
}

TEST(BecomeDeathTest, TheProcessGoesOnAsTheProgram) {
  EXPECT_EXIT(Become({"/bin/sh", "-c", "exit 7"}), testing::ExitedWithCode(7), "");
}

TEST(Become, OfAMissingProgramReturnsWhy) {
  EXPECT_NE(Become({"/no/such/program"}).message.find("/no/such/program"), std::string::npos);
}

}  // namespace
}  // namespace trainctl::client
