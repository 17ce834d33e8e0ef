#include "server/coordinator/event_log.h"

#include <gtest/gtest.h>

namespace trainctl::coordinator {
namespace {

std::string Logged(const std::string& value) {
  testing::internal::CaptureStderr();
  StderrEventLog().Info("told", {{"text", value}});
  const std::string line = testing::internal::GetCapturedStderr();
  return line.substr(line.find("text="));
}

TEST(EventLog, NothingOfAValueSteersATerminalOrForgesALine) {
  EXPECT_EQ(Logged("plain-word"), "text=plain-word\n");
  EXPECT_EQ(Logged("größer \"so\""), "text=\"größer \\\"so\\\"\"\n");
  EXPECT_EQ(Logged("a\nb\rc\x1b[31md"), "text=\"a\\nb c [31md\"\n");
  EXPECT_EQ(Logged("C1 \u009b31m"), "text=\"C1  31m\"\n");
  EXPECT_EQ(Logged("bidi \u202e\u2066"), "text=\"bidi   \"\n");
  EXPECT_EQ(Logged("line\u2028end"), "text=\"line end\"\n");
  EXPECT_EQ(Logged("broken \xff\x9b"), "text=\"broken \uFFFD\uFFFD\"\n");
}

}  // namespace
}  // namespace trainctl::coordinator
