// A rank that proves its micro batch before it loads weights.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "tests/engine/rank_process.h"

namespace trainctl::engine_test {
namespace {

class TrialTest : public RankTest {
 protected:
  TrialTest() {
    plan_.job.deterministic = true;
    plan_.job.train.micro_batch_size = 4;
  }

  // All of one name, by step and phase.
  using Values = std::map<std::pair<int64_t, std::optional<job::Phase>>, double>;
  static Values ValuesOf(const RankEnd& end, const std::string& name) {
    Values values;
    for (const job::MetricPoint& point : end.Points(name))
      values[{point.step, point.phase}] = point.value;
    return values;
  }

  // The largest difference of two values of the same place, over the value.
  static double Difference(const Values& one, const Values& other) {
    double most = one.size() == other.size() ? 0 : 1;
    for (const auto& [place, value] : one) {
      const auto same = other.find(place);
      most = std::max(
          most, same == other.end() ? 1 : std::abs(value - same->second) / std::max(1.0, value));
    }
    return most;
  }

  // Every number of the run is that of the run without a trial: to the last bit, and bytes of
  // memory within memory_tolerance.
  void ExpectNoTrace(double memory_tolerance = 0) {
    plan_.trial = false;
    const RankEnd without = Run();
    ASSERT_EQ(without.outcome().outcome, job::Outcome::kSucceeded) << without.outcome().message;
    plan_.trial = true;
    const RankEnd with = Run();
    ASSERT_EQ(with.outcome().outcome, job::Outcome::kSucceeded) << with.outcome().message;
    EXPECT_EQ(ValuesOf(with, "trial_seconds").size(), 1u);
    EXPECT_EQ(ValuesOf(with, "loss").size(), 4u);
    for (const char* name : {"loss", "val_loss", "grad_norm", "memory_params_bytes",
                             "memory_grads_bytes", "memory_optimizer_bytes"}) {
      EXPECT_EQ(ValuesOf(with, name), ValuesOf(without, name)) << name;
    }
    for (const char* name : {"memory_allocated_bytes", "memory_peak_allocated_bytes"}) {
      EXPECT_LE(Difference(ValuesOf(with, name), ValuesOf(without, name)), memory_tolerance)
          << name;
    }
  }
};

TEST_F(TrialTest, LeavesNoTraceInTheRun) { ExpectNoTrace(); }

TEST_F(TrialTest, LeavesNoTraceWhereGradientsAccumulateAndAreClipped) {
  plan_.job.train.global_batch_size = 16;
  plan_.job.train.max_norm = 1.0;
  plan_.job.precision = job::Precision::kBf16Mixed;
  ExpectNoTrace();
}

TEST_F(TrialTest, LeavesNoTraceInQloraWithDropout) {
  plan_.job.lora = job::LoraSpec{.dropout = 0.3};
  plan_.job.quantize = job::Quantize::kNf4Dq;
  plan_.job.precision = job::Precision::kBf16True;
  ExpectNoTrace();
}

TEST_F(TrialTest, LeavesNoTraceInAnOptimizerInHostMemory) {
  plan_.job.offload_optimizer = true;
  plan_.job.train.max_norm =
      1.0;  // else its threads take gradients away while memory is read after the backward
  plan_.threads = 2;
  ExpectNoTrace(
      /*memory_tolerance=*/1e-4);  // they hold some bytes of their own, now here, now there
}

TEST_F(TrialTest, IsSaidAsAPhaseBeforeLoading) {
  plan_.trial = true;
  const RankEnd end = Run();
  using enum job::RunPhase;
  const std::vector<job::RunPhase> phases = end.Phases();
  ASSERT_GE(phases.size(), 5u);
  EXPECT_EQ(std::vector(phases.begin(), phases.begin() + 5),
            (std::vector{kTokenizing, kJoining, kTrial, kLoading, kTraining}));
  end.ExpectMeasured({kTokenizing, kTrial, kLoading, kEvaluating});
  ASSERT_FALSE(end.All<job::RankNotice>().empty());
  EXPECT_EQ(end.All<job::RankNotice>()[0].text.rfind("trial of micro batch 4: peak ", 0), 0u)
      << end.All<job::RankNotice>()[0].text;
}

// Short rows first: a run that would meet its longest row late meets it in the trial.
TEST_F(TrialTest, IsOfTheLongestRowWhereverItStands) {
  const fs::path data = folder_ / "rows.json";
  std::ofstream rows(data);
  rows << "[";
  for (int row = 0; row < 15; ++row) rows << R"({"text": "a short row"}, )";
  rows << "{\"text\": \"";
  for (int word = 0; word < 400; ++word) rows << "word ";
  rows << "\"}]";
  rows.close();
  plan_.job.data = {.path = data, .format = job::DataFormat::kText};
  plan_.job.train.max_seq_length = 512;
  plan_.job.train.micro_batch_size = 8;
  plan_.job.train.max_steps = 1;
  plan_.trial = true;
  const RankEnd end = Run();
  ASSERT_EQ(end.outcome().outcome, job::Outcome::kSucceeded) << end.outcome().message;
  const auto peaks = ValuesOf(end, "memory_peak_allocated_bytes");
  const double longest = std::ranges::max_element(peaks, {}, &Values::value_type::second)->second;

  plan_.job.resources.gpu_memory_limit_bytes = static_cast<int64_t>(0.9 * longest);
  plan_.job.train.max_steps = 1;
  const job::RankOutcome outcome = Run().outcome();
  EXPECT_EQ(outcome.outcome, job::Outcome::kOomGpu) << outcome.message;
  ASSERT_TRUE(outcome.oom.has_value());
  EXPECT_TRUE(outcome.oom->phase.in_trial) << job::Name(outcome.oom->phase);
}

TEST_F(TrialTest, ThatDoesNotFitEndsTheRankBeforeItLoads) {
  plan_.job.resources.gpu_memory_limit_bytes = 16 << 20;
  plan_.job.train.micro_batch_size = 128;
  plan_.trial = true;
  const RankEnd end = Run();
  EXPECT_EQ(end.exit_code, 1);
  EXPECT_EQ(end.outcome().outcome, job::Outcome::kOomGpu) << end.outcome().message;
  EXPECT_EQ(end.Phases().back(), job::RunPhase::kTrial);
  EXPECT_NE(end.outcome().message.find("out of device memory in trial "), std::string::npos)
      << end.outcome().message;
  ASSERT_TRUE(end.outcome().oom.has_value());
  EXPECT_GT(end.outcome().oom->memory.params, 0);
  EXPECT_GT(end.outcome().oom->memory.optimizer, 0);
}

TEST_F(TrialTest, ParametersThatDoNotFitAreNoMatterOfTheMicroBatch) {
  plan_.job.resources.gpu_memory_limit_bytes = 1 << 20;
  plan_.trial = true;
  const RankEnd end = Run();
  EXPECT_EQ(end.outcome().outcome, job::Outcome::kOomGpu) << end.outcome().message;
  EXPECT_EQ(end.Phases().back(), job::RunPhase::kJoining);
}

}  // namespace
}  // namespace trainctl::engine_test
