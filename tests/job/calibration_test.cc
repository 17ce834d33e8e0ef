// Ways that ran and ways that are predicted are put in one order by one measure.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "common/advice/earlier_times.h"
#include "common/advice/way.h"
#include "common/estimate/predict_time.h"
#include "common/job/check_job.h"
#include "common/job/job_json.h"
#include "tests/job/deployed_model.h"
#include "tests/job/gib.h"

namespace trainctl::advice {
namespace {

constexpr const char* kCalibrated = "NVIDIA H200";
constexpr double kTimesLonger = 1.5;  // than rates say

Question Asked() {
  const char* file = R"({"version": 1, "name": "seven", "model": {"path": "/m"},
    "data": {"path": "/d", "val_split_fraction": 0.05}, "precision": "bf16-true",
    "train": {"global_batch_size": 64, "micro_batch_size": 4, "max_seq_length": 512},
    "output": {"dir": "/o", "save": "none"}})";
  job::ReadJob read = job::ReadJobFile(file, {.base_directory = "/"});
  EXPECT_TRUE(read.problems.empty()) << job::Format(read.problems, "");
  Question question{.job = read.job.value_or(job::JobSpec()), .devices = 4};
  question.inspection = {.model = job::DeployedModel("open_llama_7b"),
                         .rows = 52'000,
                         .longest_row = 512,
                         .total_tokens = 52'000 * 120,
                         .data_digest = "d",
                         .output = std::nullopt};
  question.device = {.kind = job::DeviceKind::kCuda,
                     .host = "h",
                     .name = kCalibrated,
                     .memory_bytes = 139 * job::kGiB,
                     .compute_capability = "9.0"};
  return question;
}

// By ShapeKey, what a site has stored.
using History = std::map<std::string, job::EarlierRuns>;

class Calibration : public ::testing::Test {
 protected:
  std::string KeyOf(const Way& way) const { return job::ShapeKey(way.job, question_.inspection); }

  // Of two runs of the way that took so many times what rates say.
  void Remember(const Way& way, double times, bool disturbed = false) {
    history_[KeyOf(way)] = {.device_name = kCalibrated,
                            .step_seconds = times * *way.time->rates_step_seconds,
                            .runs = 2,
                            .disturbed = disturbed};
  }

  // With what the history tells.
  Ways Find() const {
    base::Result<Ways> ways = FindWays(question_);
    EXPECT_TRUE(ways.ok()) << ways.error().message;
    const PredictTimes predict = [&](const std::vector<TimeQuestion>& questions) {
      TimesTold told;
      for (const TimeQuestion& question : questions) {
        job::EarlierTimes earlier;
        const auto found = history_.find(job::ShapeKey(question.job, question_.inspection));
        if (found != history_.end()) earlier.runs.push_back(found->second);
        told.times.push_back(job::PredictTime(question.job, question_.inspection, kCalibrated,
                                              question.memory.holds_gradients.value_or(false),
                                              earlier));
      }
      return told;
    };
    TakeEarlierTimes({question_.device}, predict, &*ways);
    return std::move(*ways);
  }

  std::vector<std::string> OrderOf(const std::vector<Way>& ways) const {
    std::vector<std::string> order;
    for (const Way& way : ways) order.push_back(OverridesOf(question_.job, way));
    return order;
  }

  const Way& Same(const Ways& ways, const Way& way) const {
    return *std::ranges::find(ways.fitting, KeyOf(way),
                              [this](const Way& other) { return KeyOf(other); });
  }

  Question question_ = Asked();
  History history_;
};

TEST_F(Calibration, ARunThatTookLongerThanRatesSayDoesNotLoseToWhatIsPredictedToBeSlower) {
  const std::vector<Way> before = ParetoFront(Find().fitting);
  ASSERT_GT(before.size(), 2u);
  Remember(before.front(), kTimesLonger);
  const std::vector<Way> after = ParetoFront(Find().fitting);
  EXPECT_EQ(OrderOf(after), OrderOf(before));
  EXPECT_TRUE(after.front().is_measured());
  EXPECT_EQ(SourceOfTime(after.front()), "2 runs");
  EXPECT_EQ(SourceOfTime(after[1]), "rates × 1.5");
  EXPECT_NEAR(after[1].time->step_seconds, kTimesLonger * before[1].time->step_seconds, 1e-9);
}

TEST_F(Calibration, ARunThatTookLessThanRatesSayDoesNotWinAgainstWhatIsPredictedToBeFaster) {
  const std::vector<Way> before = ParetoFront(Find().fitting);
  Remember(before.back(), 1 / kTimesLonger);
  const std::vector<Way> after = ParetoFront(Find().fitting);
  EXPECT_EQ(OrderOf(after), OrderOf(before));
  EXPECT_EQ(SourceOfTime(after.back()), "2 runs");
}

TEST_F(Calibration, RunsThatOthersSlowedScaleNothingAndAreShown) {
  const std::vector<Way> before = ParetoFront(Find().fitting);
  Remember(before.front(), kTimesLonger, /*disturbed=*/true);
  const std::vector<Way> after = ParetoFront(Find().fitting);
  EXPECT_EQ(OrderOf(after), OrderOf(before));
  const Way& first = after.front();
  EXPECT_EQ(first.time->step_seconds, before.front().time->step_seconds);
  EXPECT_FALSE(first.is_measured());
  EXPECT_NEAR(first.of_runs()->step_seconds, kTimesLonger * first.time->step_seconds, 1e-9);
  EXPECT_THAT(SourceOfTime(first), testing::StartsWith("rates (2 runs, disturbed: "));
  EXPECT_EQ(SourceOfTime(after[1]), "rates");
}

// Other work makes no run faster.
TEST_F(Calibration, RunsThatOthersSlowedAreBelievedWhereTheyTookLess) {
  const Way first = Find().fitting.front();
  Remember(first, 0.5, /*disturbed=*/true);
  const Ways after = Find();
  const Way& same = Same(after, first);
  EXPECT_EQ(SourceOfTime(same), "2 runs, disturbed");
  EXPECT_NEAR(same.time->step_seconds, 0.5 * first.time->step_seconds, 1e-9);
}

TEST_F(Calibration, TheNearestRunsScaleAWay) {
  const Ways before = Find();
  const auto of = [&](int64_t devices, int64_t micro, bool offload) -> const Way& {
    return *std::ranges::find_if(before.fitting, [&](const Way& way) {
      return way.job.devices == devices && way.job.train.micro_batch_size == micro &&
             way.job.offload_optimizer == offload && way.job.activation_checkpointing == 1 &&
             (devices == 1 || way.job.sharding == job::Sharding::kFull) &&
             way.job.strategy ==
                 (devices == 1 ? job::StrategyKind::kSingle : job::StrategyKind::kFsdp) &&
             !way.job.resources.gpu_memory_limit_bytes;
    });
  };
  Remember(of(1, 1, false), 2);
  Remember(of(4, 4, false), 3);
  const Ways after = Find();
  EXPECT_DOUBLE_EQ(Same(after, of(1, 2, false)).rates_factor, 2);
  EXPECT_DOUBLE_EQ(Same(after, of(1, 2, true)).rates_factor, 2);
  EXPECT_DOUBLE_EQ(Same(after, of(4, 2, false)).rates_factor, 3);
  EXPECT_DOUBLE_EQ(Same(after, of(2, 4, true)).rates_factor, 3);
  history_.erase(KeyOf(of(4, 4, false)));
  Remember(of(1, 4, false), 8);
  EXPECT_NEAR(Same(Find(), of(1, 2, false)).rates_factor, 4, 1e-9) << "as near to both";
}

TEST_F(Calibration, StartAndLoadAreNotScaled) {
  const std::vector<Way> before = Find().fitting;
  Remember(before.front(), kTimesLonger);
  const Ways after = Find();
  const Way& sibling = before[1];
  const Way& scaled = Same(after, sibling);
  const auto once = [](const Way& way) { return way.time->start_seconds + way.time->load_seconds; };
  EXPECT_EQ(once(scaled), once(sibling));
  job::EarlierRuns runs{.device_name = kCalibrated,
                        .step_seconds = kTimesLonger * sibling.time->step_seconds,
                        .runs = 1};
  const auto as_if_run = job::EstimateTimeFromRuns(sibling.job, question_.inspection, runs);
  EXPECT_NEAR(scaled.time->total_seconds, as_if_run->total_seconds, 1e-6);
  EXPECT_NEAR(scaled.time->training_seconds, as_if_run->training_seconds, 1e-6);
}

TEST_F(Calibration, TheWaysAreSortedByTheTimesThatAreShown) {
  const std::vector<Way> before = Find().fitting;
  Remember(before.front(), 3);
  Remember(before.back(), 0.01);
  const std::vector<Way> after = Find().fitting;
  EXPECT_TRUE(
      std::ranges::is_sorted(after, {}, [](const Way& way) { return way.time->total_seconds; }));
}

}  // namespace
}  // namespace trainctl::advice
