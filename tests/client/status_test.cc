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

TEST_F(StatusTest, StatusSaysWhereThereAreOlderJobsThanItShows) {
  for (int i = 1; i <= 1'001; ++i)
    coordinator_.jobs.push_back(FinishedJob("j" + std::to_string(i), "tiny", "SUCCEEDED"));
  const std::string said = "\n… and older jobs: --limit N shows the newest N\n";
  EXPECT_NE(Trainctl({"status"}).out.find(said), std::string::npos);
  EXPECT_EQ(Trainctl({"status", "--limit", "2"}).out.find("older jobs"), std::string::npos);
  coordinator_.jobs.pop_back();
  EXPECT_EQ(Trainctl({"status"}).out.find("older jobs"), std::string::npos);
}

}  // namespace
}  // namespace trainctl::client
