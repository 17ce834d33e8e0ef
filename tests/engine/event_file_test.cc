#include "worker/rank/process/event_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "tests/files/file_limit.h"
#include "worker/rank/process/reporter.h"

namespace trainctl::train {
namespace {

TEST(EventFile, ThatTakesNoMoreEndsTheCurvesWithANotice) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("event_file_test." + std::to_string(::getpid()));
  job::RankPlan plan;
  plan.job_id = "j1";
  plan.job.output.dir = folder;
  const base::SystemClock clock;
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  {
    const FileLimit disk(4096);
    Reporter reporter(ends[1], clock, /*rank=*/0);  // ends before the disk: it writes until then
    reporter.Track(EventFile::Make(plan, 0, clock.Wall()).value());
    for (int step = 0; step < 1000; ++step) reporter.Record(job::Metric::kLoss, step, 1);
    reporter.Send(job::RankNotice{"goes on"});
  }
  ::close(ends[1]);
  std::string said;
  char piece[4096];
  for (ssize_t n; (n = ::read(ends[0], piece, sizeof piece)) > 0;)
    said.append(piece, static_cast<size_t>(n));
  ::close(ends[0]);
  EXPECT_NE(said.find("no more curves are written for TensorBoard: "), std::string::npos) << said;
  EXPECT_NE(said.find("File too large"), std::string::npos) << said;
  EXPECT_NE(said.find("\"step\":999"), std::string::npos) << "points reach the worker all the same";
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace trainctl::train
