// What is predicted of run time: of one job, of a lab, and beside what was measured.
#include <gtest/gtest.h>

#include "client/show/foresight.h"
#include "client/show/job_report.h"
#include "client/submit/assessment.h"
#include "client/submit/lab_time.h"
#include "client/submit/prediction.h"
#include "common/record/foresight.h"
#include "tests/job/tiny_llama.h"
#include "tests/job/valid_job.h"

namespace trainctl::client {
namespace {

SiteWorker Gpu(const std::string& name) {
  return {name,
          job::WorkerState::kReady,
          {job::DeviceKind::kCuda, "node1", "NVIDIA H200", int64_t{141} << 30, "9.0"}};
}

Assessment Taking(double seconds, int64_t devices = 1) {
  Assessment assessment;
  assessment.job.devices = devices;
  assessment.candidates = {Gpu("n/0"), Gpu("n/1")};
  assessment.time = job::TimeEstimate{.training_seconds = seconds - 10, .total_seconds = seconds};
  return assessment;
}

TEST(PredictLab, ExperimentsRunBesideEachOtherWhereThereAreDevices) {
  EXPECT_EQ(PredictLab({Taking(100), Taking(60), Taking(50)}).seconds, 110);
  EXPECT_EQ(PredictLab({Taking(100), Taking(60), Taking(50)}, 1).seconds, 210);
}

TEST(PredictLab, AGangWaitsForAllItsDevices) {
  EXPECT_EQ(PredictLab({Taking(100), Taking(60, 2), Taking(50)}).seconds, 210);
}

TEST(PredictLab, AnExclusiveJobTakesItsWholeHost) {
  Assessment alone = Taking(60);
  alone.job.exclusive = true;
  EXPECT_EQ(PredictLab({alone, alone, alone}).seconds, 180);
  alone.candidates[1].device.host = "node2";
  EXPECT_EQ(PredictLab({alone, alone, alone}).seconds, 120);
}

// Of a run with many steps and evaluations.
Assessment Predicted(const job::JobSpec& job) {
  job::Inspection inspection = job::tiny_llama::TinyLlama();
  inspection.rows = 1000;
  const Site site = {.known = true, .workers = {Gpu("n/0"), Gpu("n/1")}};
  Assessment assessment = Assess({job, inspection}, site, false).value();
  PredictTime({}, &assessment);
  return assessment;
}

job::JobSpec EvaluatedJob() {
  job::JobSpec job = job::SmallestJob();
  job.train.micro_batch_size = 1;
  job.data.val_split_fraction = 0.5;
  job.eval.every_steps = 1;
  return job;
}

TEST(PredictTime, WhatIsExpectedToRunOutOfMemoryEndsInItsFirstStep) {
  job::JobSpec job = EvaluatedJob();
  const job::TimeEstimate whole = *Predicted(job).time;
  job.expect = job::Expect::kOom;
  const Assessment assessment = Predicted(job);
  const job::TimeEstimate& time = *assessment.time;
  EXPECT_DOUBLE_EQ(time.total_seconds,
                   whole.start_seconds + whole.load_seconds + whole.step_seconds);
  EXPECT_EQ(time.training_seconds, whole.step_seconds);
  EXPECT_NE(job::TimeText(time).find("training (its first step: the job expects OOM), predicted"),
            std::string::npos)
      << job::TimeText(time);
  EXPECT_EQ(PredictLab({assessment}).seconds, time.total_seconds);
}

TEST(PredictTime, ATimeLimitThatIsShorterIsNoted) {
  job::JobSpec job = EvaluatedJob();
  job.resources.time_limit_seconds = 1;
  const Assessment assessment = Predicted(job);
  ASSERT_FALSE(assessment.notes.empty());
  EXPECT_TRUE(assessment.notes.back().starts_with("resources.time_limit 1s is shorter than the "))
      << assessment.notes.back();
  job.resources.time_limit_seconds = 1'000'000;
  for (const std::string& note : Predicted(job).notes)
    EXPECT_EQ(note.find("time_limit"), std::string::npos) << note;
}

TEST(LabText, SaysWhetherItFitsAndWhatIsNotCounted) {
  Assessment unknown = Taking(1), refused = Taking(1);
  unknown.time.reset();
  refused.site_problems.emplace_back();
  const LabTime lab = PredictLab({Taking(3600), Taking(3600), unknown, refused});
  EXPECT_EQ(LabText(lab, 3 * 3600),
            "1 h predicted for 2 experiments on 2 devices; fits 3 h; 1 experiment of unknown time "
            "not counted; "
            "1 experiment would be refused and not counted");
  EXPECT_NE(LabText(lab, 3 * 3600, ", which the lease has left")
                .find("; fits 3 h, which the lease "
                      "has left; 1 experiment"),
            std::string::npos);
  EXPECT_EQ(LabText(PredictLab({Taking(3600)}), 1800),
            "1 h predicted for 1 experiment on 1 device; does not fit 30 min");
  EXPECT_EQ(LabText(PredictLab({unknown}), std::nullopt),
            "not predicted; 1 experiment of unknown time not counted");
}

TEST(LabText, ExperimentsOneBehindTheOtherTakeTheSameDevice) {
  EXPECT_EQ(PredictLab({Taking(60), Taking(60)}).used, 2);
  const LabTime lab = PredictLab({Taking(60), Taking(60)}, 1);
  EXPECT_EQ(lab.used, 1);
  EXPECT_EQ(lab.seconds, 120);
}

TEST(GradientsText, SaysWhichWayAndWhatItCosts) {
  EXPECT_EQ(GradientsText({.holds_gradients = true, .holding_bytes = int64_t{25} << 30}),
            "reduced once a step, held whole (+25.00 GiB)");
  EXPECT_EQ(GradientsText({.holds_gradients = true, .holding_bytes = -1}),
            "reduced once a step, held whole");
  EXPECT_EQ(GradientsText({.holds_gradients = false}), "reduced in each micro step");
  EXPECT_EQ(GradientsText({}), "");
}

TEST(Assess, PredictsTheWayThatTheSitesDevicesHaveRoomFor) {
  job::JobSpec job = job::SmallestJob();
  job.devices = 2;
  job.strategy = job::StrategyKind::kFsdp;
  job.train.micro_batch_size = 2;
  job.train.accumulate_grad_batches = 4;
  job::Inspection inspection = job::tiny_llama::TinyLlama();
  inspection.rows = 64;
  const Site site = {.known = true, .workers = {Gpu("n/0"), Gpu("n/1")}};
  const Assessment roomy = Assess({job, inspection}, site, false).value();
  EXPECT_EQ(roomy.prediction->holds_gradients, true);
  EXPECT_NE(MemoryText(roomy).find("; gradients reduced once a step, held whole (+"),
            std::string::npos)
      << MemoryText(roomy);
  job.resources.gpu_memory_limit_bytes = roomy.prediction->peak_allocated;
  EXPECT_EQ(Assess({job, inspection}, site, false).value().prediction->holds_gradients, false)
      << "no margin is left";
}

void AddSummary(v1::JobDetail* detail, const std::string& name, double max) {
  v1::MetricSummary* summary = detail->add_summaries();
  summary->set_name(name);
  summary->set_max(max);
  summary->set_total(max);
  summary->set_count(1);
}

TEST(Foresight, IsThePredictionsErrorOfWhatWasMeasured) {
  job::Prediction prediction;
  prediction.memory.phases.fill({.params = 110, .peak_allocated = 990});
  prediction.time = job::TimeEstimate{.training_seconds = 30};
  v1::JobDetail detail;
  detail.mutable_view()->set_outcome("SUCCEEDED");
  AddSummary(&detail, "memory_params_bytes", 100);
  AddSummary(&detail, "memory_peak_allocated_bytes", 900);
  AddSummary(&detail, "memory_peak_allocated_bytes", 1000);
  AddSummary(&detail, "step_seconds", 40);
  const Json rows = record::ForesightRecords(prediction, detail);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0], Json({{"key", "memory_peak_allocated_bytes"},
                           {"predicted", 990.0},
                           {"measured", 1000.0},
                           {"error", -0.01}}));
  EXPECT_EQ(rows[1]["error"], 0.1);
  EXPECT_EQ(rows[2]["error"], -0.25);
  EXPECT_NE(ForesightText(prediction, detail, {}).find("−25.0 %"), std::string::npos);
}

TEST(Foresight, WhereMemoryRanOutThePeakIsNotWhatWasNeeded) {
  job::Prediction prediction;
  prediction.memory.phases.fill({.params = 110, .peak_allocated = 1420});
  v1::JobDetail detail;
  detail.mutable_view()->set_outcome("OOM_GPU");
  AddSummary(&detail, "memory_params_bytes", 100);
  AddSummary(&detail, "memory_peak_allocated_bytes", 1000);
  const Json rows = record::ForesightRecords(prediction, detail);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0]["measured"], 1000.0);
  EXPECT_EQ(rows[0]["error"], nullptr);
  EXPECT_EQ(rows[1]["error"], 0.1) << "parameters are whole before anything is out of memory";
  EXPECT_EQ(ForesightText(prediction, detail, {}).find("+42"), std::string::npos);
}

// Kinds of other phases than the peak's need not add up to it.
TEST(Foresight, AKindOfMemorySaysAtWhichPhaseItWasLargest) {
  job::Prediction prediction;
  prediction.memory.phases.fill({.params = 110, .other = 50});
  v1::JobDetail detail;
  AddSummary(&detail, "memory_params_bytes", 100);
  AddSummary(&detail, "memory_other_bytes", 10);
  AddSummary(&detail, "memory_other_bytes", 60);
  detail.mutable_summaries(1)->set_phase("before_forward");
  detail.mutable_summaries(2)->set_phase("after_forward");
  const std::string text = ForesightText(prediction, detail, {});
  EXPECT_NE(text.find("60 B (after_forward)"), std::string::npos) << text;
  EXPECT_NE(text.find("100 B  "), std::string::npos) << "it is the same at all" << text;
  detail.set_prediction_json(job::ToJson(prediction));
  const std::string report = JobReport(detail);
  EXPECT_NE(report.find("| memory: other | 50 B | 60 B (after_forward) | −16.7 % |"),
            std::string::npos)
      << report;
  EXPECT_EQ(report.find("```"), std::string::npos) << report;
}

// The process holds much that is no tensor.
TEST(Foresight, OnACpuSlotWhatTheProcessHoldsIsNotPredicted) {
  job::Prediction prediction;
  prediction.memory.phases.fill({.peak_allocated = 1000, .reserved = 1000});
  v1::JobDetail detail;
  AddSummary(&detail, "memory_peak_allocated_bytes", 1000);
  AddSummary(&detail, "memory_reserved_bytes", 20'000);
  v1::RankView& rank = *detail.add_attempts()->add_ranks();
  rank.set_device_name("NVIDIA H200");
  EXPECT_EQ(record::ForesightRecords(prediction, detail).size(), 2u);
  rank.set_device_name("CPU slot (2 threads)");
  const Json rows = record::ForesightRecords(prediction, detail);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0]["key"], "memory_peak_allocated_bytes");
}

TEST(Foresight, SaysWhatTheLoadingTookBesideEarlierRuns) {
  job::Prediction prediction;
  prediction.time = job::TimeEstimate{.training_seconds = 30, .load_seconds = 6};
  v1::JobDetail detail;
  detail.mutable_view()->set_outcome("SUCCEEDED");
  AddSummary(&detail, "load_seconds", 5);
  detail.mutable_summaries(0)->set_latest(5);
  EXPECT_EQ(record::ForesightRecords(prediction, detail), Json::array())
      << "no run was learned from";
  prediction.time->start_runs = 2;
  const Json rows = record::ForesightRecords(prediction, detail);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0],
            Json({{"key", "load_seconds"}, {"predicted", 6.0}, {"measured", 5.0}, {"error", 0.2}}));
}

TEST(Foresight, OfAResumedRunIsOfItsOwnSteps) {
  job::Prediction prediction;
  prediction.time = job::TimeEstimate{.training_seconds = 30};
  job::JobSpec job;
  job.model.path = job.data.path = "/p";
  job.name = "tiny";
  job.train.micro_batch_size = 1;
  job.checkpoint.resume_from = "/out";
  v1::JobDetail detail;
  detail.set_job_json(job::ToJson(job));
  detail.mutable_view()->set_outcome("SUCCEEDED");
  AddSummary(&detail, "step_seconds", 40);
  EXPECT_EQ(record::ForesightRecords(prediction, detail), Json::array());
  detail.set_inspection_json(job::ToJson(job::Inspection{.rows = 9, .resume_step = 3}));
  EXPECT_EQ(record::ForesightRecords(prediction, detail).size(), 1u);
}

TEST(Foresight, OfARunThatDidNotSucceedLeavesItsTimeOut) {
  job::Prediction prediction;
  prediction.time = job::TimeEstimate{.training_seconds = 30};
  v1::JobDetail detail;
  detail.mutable_view()->set_outcome("CANCELLED");
  AddSummary(&detail, "step_seconds", 40);
  EXPECT_EQ(record::ForesightRecords(prediction, detail), Json::array());
  EXPECT_EQ(ForesightText(prediction, detail, {}), "");
}

}  // namespace
}  // namespace trainctl::client
