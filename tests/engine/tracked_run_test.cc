// trainrank writes curves for TensorBoard while it trains.
#include <gtest/gtest.h>

#include <sstream>

#include "common/track/tensorboard_events.h"
#include "tests/engine/rank_process.h"

namespace trainctl::engine_test {
namespace {

class TrackTest : public RankTest {
 protected:
  TrackTest() {
    plan_.job.output.dir = folder_ / "out";
    plan_.job.track = {"tensorboard"};
  }

  fs::path CurvesFolder() const { return folder_ / "out" / "tensorboard"; }
  // The only event file.
  std::string Events() const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(CurvesFolder())) files.push_back(entry.path());
    EXPECT_EQ(files.size(), 1u);
    EXPECT_TRUE(files[0].filename().string().starts_with("events.out.tfevents."));
    std::ostringstream text;
    text << std::ifstream(files[0]).rdbuf();
    return text.str();
  }
};

TEST_F(TrackTest, EveryPointOfTheTrainingIsInTheEventFileOnce) {
  const RankEnd end = Run();
  ASSERT_EQ(end.outcome().outcome, job::Outcome::kSucceeded) << end.outcome().message;
  const std::string events = Events();
  size_t bytes = track::EventFileHead(0).size() + track::SessionStart(0, 0).size();
  size_t points = 0;
  for (const job::RankMetrics& metrics : end.All<job::RankMetrics>()) {
    for (const job::MetricPoint& point : metrics.points) {
      const std::string curve = track::CurveName(point.name, point.rank, Name(point.phase));
      const std::string event = track::ScalarEvent(curve, point.step, point.value, point.time);
      EXPECT_NE(events.find(event), std::string::npos) << curve << " of step " << point.step;
      bytes += event.size();
      ++points;
    }
  }
  EXPECT_GT(points, 4u * 10);
  EXPECT_EQ(events.size(), bytes) << "nothing else is in it";
}

TEST_F(TrackTest, AFolderThatCantBeMadeFailsTheRunAtOnceAndSaysWhy) {
  fs::create_directories(folder_ / "out");
  std::ofstream(CurvesFolder()) << "a file stands where the folder is to be";
  const RankEnd end = Run();
  EXPECT_EQ(end.outcome().outcome, job::Outcome::kFailed);
  EXPECT_NE(end.outcome().message.find("output.dir: "), std::string::npos) << end.outcome().message;
  EXPECT_NE(end.outcome().message.find("tensorboard"), std::string::npos) << end.outcome().message;
}

}  // namespace
}  // namespace trainctl::engine_test
