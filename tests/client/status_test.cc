#include <algorithm>

#include "tests/client/client_test.h"

namespace trainctl::client {
namespace {

using StatusTest = ClientTest;

TEST_F(StatusTest, StatusWatchIsNoLongerThanTheTerminalAndKeepsWhatRunsAndTheNewest) {
  for (int i = 1; i <= 40; ++i) {
    v1::JobView job = i == 3 ? RunningJob("j3", "old-but-runs")
                             : FinishedJob("j" + std::to_string(i), "tiny", "SUCCEEDED");
    job.set_submitted_at(i * 1'000'000);
    coordinator_.jobs.push_back(job);
  }
  SetTerminal(/*width=*/120);
  surroundings_.out_terminal.height = 12;
  on_sleep_ = [this] { coordinator_.jobs = {FinishedJob("j1", "tiny", "SUCCEEDED")}; };
  const std::string out = Trainctl({"status", "-w"}).out;
  const std::string first = out.substr(0, out.find("\x1b[H\x1b[2J", 1));
  EXPECT_LT(std::ranges::count(first, '\n'), 12) << first;
  EXPECT_GT(std::ranges::count(first, '\n'), 8) << first;
  EXPECT_NE(first.find("old-but-runs"), std::string::npos) << first;
  EXPECT_NE(first.find("j40 "), std::string::npos) << first;
  EXPECT_EQ(first.find("j10 "), std::string::npos) << first;
  EXPECT_NE(first.find("older jobs"), std::string::npos) << first;
}

}  // namespace
}  // namespace trainctl::client
