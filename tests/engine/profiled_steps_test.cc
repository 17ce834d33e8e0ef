// trainrank traces some of its steps: what it tells of them, and the file that it writes.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "common/base/saved_folder.h"
#include "common/rank/step_kind.h"
#include "tests/engine/rank_process.h"

namespace trainctl::engine_test {
namespace {

class ProfileTest : public RankTest {
 protected:
  ProfileTest() {
    plan_.job.train.max_steps = 8;
    plan_.job.output.dir = folder_ / "out";
    plan_.job.profile = job::ProfileSpec{.steps = 3, .skip = 2};
  }

  fs::path TracePath() const { return folder_ / "out" / "profile" / "rank-0.json"; }
  nlohmann::json Trace() const {
    std::ifstream file(TracePath());
    return nlohmann::json::parse(file);
  }
  static std::vector<int64_t> StepsOf(const std::vector<job::MetricPoint>& points) {
    std::vector<int64_t> steps;
    for (const job::MetricPoint& point : points) steps.push_back(point.step);
    return steps;
  }
};

TEST_F(ProfileTest, KindsOfARealRunSumUpToItsSteps) {
  const RankEnd end = Run();
  ASSERT_EQ(end.outcome().outcome, job::Outcome::kSucceeded) << end.outcome().message;
  const auto profiled = end.Points("profile_step_seconds"), steps = end.Points("step_seconds");
  EXPECT_EQ(StepsOf(profiled), (std::vector<int64_t>{2, 3, 4}));
  std::vector<double> sums(profiled.size());
  for (const job::Metric kind : job::kStepKindMetrics) {
    const auto points = end.Points(std::string(job::Name(kind)));
    ASSERT_EQ(StepsOf(points), StepsOf(profiled)) << job::Name(kind);
    for (size_t i = 0; i < points.size(); ++i) {
      EXPECT_EQ(points[i].rank, 0);
      EXPECT_GE(points[i].value, 0) << job::Name(kind);
      sums[i] += points[i].value;
    }
  }
  for (size_t i = 0; i < profiled.size(); ++i) EXPECT_NEAR(sums[i], profiled[i].value, 1e-9);
  for (const char* kind : {"matmul", "attention", "optimizer", "other", "data"}) {
    EXPECT_GT(end.Points("profile_" + std::string(kind) + "_seconds").at(1).value, 0) << kind;
  }
  EXPECT_EQ(end.Points("profile_communication_seconds").at(1).value, 0) << "of a gang of one";
  EXPECT_EQ(steps.size(), 8u) << "profiled steps are steps";
}

// The rank's own clock ends a step shortly before the trace does. The machine may stop the rank in
// between. Yet a few steps of one lie within one step more of the other.
TEST_F(ProfileTest, TracedStepsLastAsLongAsTheRanksOwnClockSays) {
  plan_.job.train.max_steps = 10;
  plan_.job.profile = job::ProfileSpec{.steps = 8, .skip = 1};
  const RankEnd end = Run();
  const auto profiled = end.Points("profile_step_seconds"), steps = end.Points("step_seconds");
  ASSERT_EQ(StepsOf(profiled), (std::vector<int64_t>{1, 2, 3, 4, 5, 6, 7, 8}));
  ASSERT_EQ(steps.size(), 10u);
  const auto sum = [](const std::vector<job::MetricPoint>& points, int64_t first, int64_t last) {
    double seconds = 0;
    for (const job::MetricPoint& point : points)
      if (point.step >= first && point.step <= last) seconds += point.value;
    return seconds;
  };
  constexpr double kOfClocks = 1.001;
  EXPECT_LE(sum(profiled, 2, 7), sum(steps, 2, 8) * kOfClocks);
  EXPECT_LE(sum(steps, 2, 7), sum(profiled, 1, 7) * kOfClocks);
}

// Perfetto draws the slices of a thread as a stack: of two that overlap without one lying in the
// other it leaves one out.
TEST_F(ProfileTest, SlicesOfAThreadLieInEachOtherOrApart) {
  Run();
  struct Slice {
    double begin, end;
    std::string name;
  };
  std::map<std::pair<std::string, std::string>, std::vector<Slice>> threads;
  size_t slices = 0;
  const nlohmann::json trace = Trace();
  for (const nlohmann::json& event : trace.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    const double begin = event.at("ts");
    threads[{event.at("pid").dump(), event.at("tid").dump()}].push_back(
        {begin, begin + event.at("dur").get<double>(), event.at("name")});
    ++slices;
  }
  EXPECT_GT(slices, 100u);
  for (auto& [thread, all] : threads) {
    std::ranges::sort(all, [](const Slice& a, const Slice& b) {
      return std::pair(a.begin, -a.end) < std::pair(b.begin, -b.end);
    });
    std::vector<Slice> open;
    for (const Slice& slice : all) {
      while (!open.empty() && open.back().end <= slice.begin) open.pop_back();
      if (!open.empty()) {
        EXPECT_LE(slice.end, open.back().end) << slice.name << " in " << open.back().name;
      }
      open.push_back(slice);
    }
  }
}

TEST_F(ProfileTest, TheTraceIsOfChromesFormatWithStepsByName) {
  const RankEnd end = Run();
  const nlohmann::json trace = Trace();
  std::set<std::string> ranges, operators;
  for (const nlohmann::json& event : trace.at("traceEvents")) {
    const std::string phase = event.at("ph");
    if (phase != "X") continue;
    for (const char* key : {"ts", "dur", "pid", "tid", "name"}) ASSERT_TRUE(event.contains(key));
    (event.value("cat", "") == "user_annotation" ? ranges : operators)
        .insert(event.at("name").get<std::string>());
  }
  for (const char* range : {"step 1", "step 2", "step 3", "step 4", "forward", "backward",
                            "attention", "optimizer", "data"})
    EXPECT_TRUE(ranges.contains(range)) << range;
  EXPECT_FALSE(ranges.contains("step 0")) << "it passes untraced";
  EXPECT_FALSE(ranges.contains("step 5"));
  EXPECT_TRUE(operators.contains("aten::mm"));

  const auto saved = end.All<job::RankSaved>();
  ASSERT_EQ(saved.size(), 1u);
  EXPECT_EQ(saved[0].kind, "profile");
  EXPECT_EQ(saved[0].path, TracePath());
  EXPECT_EQ(saved[0].bytes, static_cast<int64_t>(fs::file_size(TracePath())));
  EXPECT_FALSE(fs::exists(TracePath().string() + ".tmp"));
}

TEST_F(ProfileTest, WritingTheTraceIsSavingInTheMidstOfTraining) {
  plan_.job.data.val_split_fraction = 0;
  const RankEnd end = Run();
  const std::vector<job::RunPhase> phases = end.Phases();
  const auto training = std::ranges::find(phases, job::RunPhase::kTraining);
  EXPECT_EQ(
      (std::vector(training, phases.end())),
      (std::vector{job::RunPhase::kTraining, job::RunPhase::kSaving, job::RunPhase::kTraining}));
}

TEST_F(ProfileTest, TheLossesAreThoseOfAnUntracedRun) {
  const auto traced = Run().Points("loss");
  fs::remove_all(folder_ / "out");
  plan_.job.profile.reset();
  const RankEnd end = Run();
  const auto untraced = end.Points("loss");
  ASSERT_EQ(traced.size(), untraced.size());
  for (size_t i = 0; i < traced.size(); ++i) EXPECT_EQ(traced[i].value, untraced[i].value) << i;
  EXPECT_TRUE(end.Points("profile_step_seconds").empty());
  EXPECT_FALSE(fs::exists(TracePath()));
}

TEST_F(ProfileTest, AShortRunsLastStepsAreTraced) {
  plan_.job.profile = job::ProfileSpec{.steps = 2, .skip = 50};
  const RankEnd end = Run();
  EXPECT_EQ(StepsOf(end.Points("profile_step_seconds")), (std::vector<int64_t>{6, 7}));
  plan_.job.profile = job::ProfileSpec{.steps = 20, .skip = 50};
  const RankEnd whole = Run();
  EXPECT_EQ(StepsOf(whole.Points("profile_step_seconds")).size(), 8u);
  ASSERT_EQ(whole.All<job::RankNotice>().size(), 1u);
  EXPECT_EQ(whole.All<job::RankNotice>()[0].text.substr(0, 23), "profile: 8 of 20 steps,");
}

TEST_F(ProfileTest, AnEvaluationIsNotTraced) {
  plan_.job.eval.every_steps = 4;
  const RankEnd end = Run();
  EXPECT_EQ(StepsOf(end.Points("profile_step_seconds")), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(end.Points("val_loss").size(), 2u);
  ASSERT_EQ(end.All<job::RankNotice>().size(), 1u);
}

TEST_F(ProfileTest, AnEvaluationBehindTheFirstTracedStepPutsTheTraceOff) {
  plan_.job.eval.every_steps = 2;
  EXPECT_EQ(StepsOf(Run().Points("profile_step_seconds")), (std::vector<int64_t>{3}));
}

TEST_F(ProfileTest, WhereEachStepIsEvaluatedTheLastThatCanBeIsTraced) {
  plan_.job.eval.every_steps = 1;
  EXPECT_EQ(StepsOf(Run().Points("profile_step_seconds")), (std::vector<int64_t>{5}));
}

TEST_F(ProfileTest, WithoutAFolderThereAreTheNumbersAlone) {
  plan_.job.output.dir.reset();
  const RankEnd end = Run();
  EXPECT_EQ(end.Points("profile_step_seconds").size(), 3u);
  EXPECT_TRUE(end.All<job::RankSaved>().empty());
}

TEST_F(ProfileTest, ATraceThatCannotBeWrittenIsToldAndTheRunGoesOn) {
  fs::create_directories(folder_ / "out");
  std::ofstream(folder_ / "out" / "profile").close();  // an empty file, in the way
  const RankEnd end = Run();
  EXPECT_EQ(end.outcome().outcome, job::Outcome::kSucceeded) << end.outcome().message;
  EXPECT_EQ(end.Points("loss").size(), 8u);
  EXPECT_TRUE(end.All<job::RankSaved>().empty());
  ASSERT_EQ(end.All<job::RankNotice>().size(), 1u);
  EXPECT_NE(end.All<job::RankNotice>()[0].text.find("could not be written"), std::string::npos);
}

}  // namespace
}  // namespace trainctl::engine_test
