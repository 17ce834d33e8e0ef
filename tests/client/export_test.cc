#include <filesystem>
#include <sstream>

#include "client/exit_code.h"
#include "client/files/folder_draft.h"
#include "client/files/lab_file_text.h"
#include "client/show/output.h"
#include "common/estimate/memory_estimate.h"
#include "common/job/check_job.h"
#include "common/job/job_json.h"
#include "tests/client/client_test.h"
#include "tests/client/scratch_folder.h"
#include "tests/failing_flock.h"

namespace trainctl::client {
namespace {

job::JobSpec Tiny(const std::string& name, int64_t micro) {
  job::JobSpec job{
      .name = name, .model = {.path = "/models/tiny"}, .data = {.path = "/data/rows.json"}};
  job.train.global_batch_size = 8;
  job.train.micro_batch_size = micro;
  return job;
}

v1::MetricPoint Loss(int64_t step, double value) {
  v1::MetricPoint point;
  point.set_name("loss");
  point.set_step(step);
  point.set_value(value);
  point.set_time(1'500'000);
  return point;
}

class ExportTest : public ClientTest {
 protected:
  ExportTest() { coordinator_.points = {Loss(0, 2.5), Loss(1, 2.25)}; }

  void AddJob(const std::string& id, const std::string& name, int64_t micro,
              const std::string& group = "") {
    v1::JobView& view = coordinator_.jobs.emplace_back(FinishedJob(id, name, "SUCCEEDED"));
    if (!group.empty()) {
      view.set_group("g1");
      view.set_group_name(group);
    }
    v1::JobDetail& detail = coordinator_.details[id];
    detail.set_job_json(job::ToJson(Tiny(name, micro)));
    AddAttempt(&detail, 1, "HANG");
    AddAttempt(&detail, 2, "SUCCEEDED");
    v1::JobEvent& event = *detail.add_events();
    event.set_time(1'000'000);
    event.set_text("submitted");
    AddMemory(&detail);
    AddToComparison(view);
  }

  static void AddAttempt(v1::JobDetail* detail, int64_t number, const std::string& outcome) {
    v1::AttemptView& attempt = *detail->add_attempts();
    attempt.set_attempt(number);
    attempt.set_outcome(outcome);
    for (int64_t rank = 0; rank < 2; ++rank) attempt.add_ranks()->set_rank(rank);
  }

  static void AddMemory(v1::JobDetail* detail) {
    job::MemoryEstimate estimate;
    estimate.phases[1].params = 1100;
    detail->set_prediction_json(job::ToJson(estimate));
    for (int64_t rank = 0; rank < 2; ++rank) {
      v1::MetricSummary& summary = *detail->add_summaries();
      summary.set_name("memory_params_bytes");
      summary.set_phase("after_forward");
      summary.set_rank(rank);
      summary.set_max(1000 - static_cast<double>(rank));
      summary.set_count(1);
    }
  }

  void AddToComparison(const v1::JobView& view) {
    v1::CompareResponse& comparison = coordinator_.comparison;
    if (comparison.rows().empty()) comparison.add_rows();
    v1::ComparedJob& job = *comparison.add_jobs();
    job.set_id(view.id());
    job.set_name(view.name());
    v1::CompareRow& row = *comparison.mutable_rows(0);
    row.set_key("predicted_peak_bytes");
    row.set_label("predicted peak");
    row.set_unit("bytes");
    row.add_values()->set_number(int64_t{9} << 30);
  }

  Ended Export(const std::string& job, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"export", job, folder_ / "out"});
    return Trainctl(more);
  }

  ScratchFolder folder_;
};

TEST_F(ExportTest, AJobIsAFolderOfFilesThatSayWhatTheyAre) {
  AddJob("j1", "tiny", 2);
  const Ended ended = Export("tiny");
  EXPECT_EQ(ended.code, 0) << ended.err;
  const std::string index = folder_.Read("out/README.md");
  for (const char* file :
       {"comparison.md", "comparison.csv", "comparison.json", "job.json", "report.md",
        "detail.json", "memory.csv", "metrics.csv", "metrics.jsonl"}) {
    EXPECT_TRUE(folder_.Has(std::string("out/") + file)) << file;
    EXPECT_NE(index.find(file), std::string::npos) << file;
  }
  EXPECT_NE(index.find("[j1](report.md)"), std::string::npos);
  EXPECT_NE(index.find("| predicted peak | 9.00 GiB |"), std::string::npos) << index;
}

TEST_F(ExportTest, TheJobFileIsResolvedAndCanBeSubmittedAgain) {
  AddJob("j1", "tiny", 2);
  Export("j1");
  const job::ReadJob read = job::ReadJobFile(folder_.Read("out/job.json"), {.source = "job.json"});
  EXPECT_EQ(job::Format(read.problems, "job.json"), "");
  ASSERT_TRUE(read.job);
  EXPECT_EQ(job::ToJson(*read.job), job::ToJson(job::ResolveJob(Tiny("tiny", 2))));
}

TEST_F(ExportTest, WhereAJobOwnsItsFolderItRunsAgainInAnother) {
  AddJob("j1", "tiny", 2);
  Export("j1");
  EXPECT_NE(folder_.Read("out/README.md").find("`trainctl submit job.json` runs it again"),
            std::string::npos);
  job::JobSpec saving = Tiny("tiny", 2);
  saving.output = {.dir = "/runs/tiny", .save = job::Save::kFinal};
  coordinator_.details["j1"].set_job_json(job::ToJson(saving));
  Export("j1", {"--overwrite"});
  const std::string readme = folder_.Read("out/README.md");
  EXPECT_NE(readme.find("`trainctl submit job.json --output.dir DIR`, with a new DIR, runs it"),
            std::string::npos)
      << readme;
}

TEST_F(ExportTest, MetricsAreATableAndLines) {
  AddJob("j1", "tiny", 2);
  Export("j1");
  EXPECT_EQ(folder_.Read("out/metrics.csv"),
            "name,step,rank,phase,value,time\nloss,0,,,2.5,1.5\nloss,1,,,2.25,1.5\n");
  EXPECT_EQ(Json::parse(folder_.Read("out/metrics.jsonl")
                            .substr(0, folder_.Read("out/metrics.jsonl").find('\n')))["value"],
            2.5);
}

TEST_F(ExportTest, EachRankOfEachAttemptHasItsLog) {
  AddJob("j1", "tiny", 2);
  coordinator_.attempt_logs[1] = {Chunk(0, "a"), Chunk(1, "b"), Chunk(0, "c\n")};
  coordinator_.attempt_logs[2] = {Chunk(0, "again\n")};
  Export("j1");
  EXPECT_EQ(folder_.Read("out/logs/attempt-1/rank-0.log"), "ac\n");
  EXPECT_EQ(folder_.Read("out/logs/attempt-1/rank-1.log"), "b");
  EXPECT_EQ(folder_.Read("out/logs/attempt-2/rank-0.log"), "again\n");
  EXPECT_TRUE(folder_.Has("out/logs/attempt-2/rank-1.log"));
}

TEST_F(ExportTest, PredictionsStandBesideTheWorstRanksMeasurements) {
  AddJob("j1", "tiny", 2);
  Export("j1");
  EXPECT_NE(folder_.Read("out/memory.csv").find("params,after_forward,1100,1000,0.1\n"),
            std::string::npos);
  EXPECT_NE(folder_.Read("out/report.md").find("+10.0 %"), std::string::npos);
}

TEST_F(ExportTest, AGroupHasAFolderForEachJobAndALabFile) {
  AddJob("j1", "a/b", 2, "lab");
  AddJob("j2", "tiny-4", 4, "lab");
  const Ended ended = Export("lab");
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_TRUE(folder_.Has("out/j1-a_b/job.json"));
  EXPECT_TRUE(folder_.Has("out/j2-tiny-4/logs/attempt-1/rank-0.log"));
  EXPECT_NE(folder_.Read("out/README.md").find("[j2](j2-tiny-4/report.md)"), std::string::npos);
  EXPECT_EQ(Json::parse(folder_.Read("out/lab.json"))["experiments"][1]["set"],
            Json({{"train.micro_batch_size", 4}}));
}

TEST_F(ExportTest, AFolderThatIsNotEmptyIsLeftAlone) {
  AddJob("j1", "tiny", 2);
  folder_.Write("out/mine.txt", "mine");
  for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--overwrite"}}) {
    const Ended ended = Export("j1", more);
    EXPECT_EQ(ended.code, kExitFailure);
    EXPECT_NE(ended.err.find("is not empty"), std::string::npos);
    EXPECT_EQ(folder_.Read("out/mine.txt"), "mine");
    EXPECT_FALSE(folder_.Has("out/README.md"));
    EXPECT_FALSE(folder_.Has("out.partial"));
  }
}

TEST_F(ExportTest, OverwriteTakesThePlaceOfAnEarlierExport) {
  AddJob("j1", "tiny", 2);
  Export("j1");
  folder_.Write("out/job.json", "stale");
  EXPECT_EQ(Export("j1").code, kExitFailure);
  EXPECT_EQ(folder_.Read("out/job.json"), "stale");
  EXPECT_EQ(Export("j1", {"--overwrite"}).code, 0);
  EXPECT_NE(folder_.Read("out/job.json"), "stale");
  EXPECT_FALSE(folder_.Has("out.partial"));
}

TEST_F(ExportTest, ACoordinatorThatGoesAwayLeavesNothingHalfWritten) {
  AddJob("j1", "tiny", 2);
  coordinator_.logs_break = true;
  EXPECT_EQ(Export("j1").code, kExitUnreachable);
  EXPECT_FALSE(folder_.Has("out"));
  EXPECT_FALSE(folder_.Has("out.partial"));
}

TEST_F(ExportTest, WhatAKilledExportLeftIsClearedByTheNextOne) {
  AddJob("j1", "tiny", 2);
  folder_.Write("out.partial/half.txt", "half");
  EXPECT_EQ(Export("j1").code, 0);
  EXPECT_FALSE(folder_.Has("out/half.txt"));
  EXPECT_TRUE(folder_.Has("out/README.md"));
}

TEST_F(ExportTest, TwoExportsDoNotWriteToOneFolder) {
  AddJob("j1", "tiny", 2);
  const auto other = FolderDraft::Begin(folder_ / "out", "");
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(Export("j1").code, kExitFailure);
}

TEST_F(ExportTest, AFolderThatCantBeLockedIsNoOtherTrainctls) {
  const tests::FailingFlock fails(ENOLCK);
  const auto draft = FolderDraft::Begin(folder_ / "out", "");
  EXPECT_EQ(draft.error().code, base::Code::kIo);
  EXPECT_NE(draft.error().message.find("No locks available"), std::string::npos)
      << draft.error().message;
}

TEST_F(ExportTest, FilesAreListedForPrograms) {
  AddJob("j1", "tiny", 2);
  const Json json = Json::parse(Export("j1", {"-o", "json"}).out);
  EXPECT_EQ(json["folder"], folder_ / "out");
  EXPECT_EQ(json["files"][0]["path"], "README.md");
  EXPECT_EQ(json["files"][0]["bytes"], folder_.Read("out/README.md").size());
}

TEST_F(ExportTest, ARunningJobIsExportedAsItIsWithAWarning) {
  AddJob("j1", "tiny", 2);
  coordinator_.jobs[0] = RunningJob("j1", "tiny");
  const Ended ended = Export("j1");
  EXPECT_EQ(ended.code, 0);
  EXPECT_NE(ended.err.find("tiny goes on"), std::string::npos);
}

TEST(LabFileTextTest, SubmitsTheSameJobsAgain) {
  job::JobSpec steps = Tiny("steps", 2);
  steps.train.global_batch_size.reset();
  steps.train.accumulate_grad_batches = 3;
  steps.resources.constraints = {{"gpu.memory", ">=40GiB"}};
  for (const std::vector<job::JobSpec>& jobs :
       {std::vector{Tiny("full", 2), steps}, {steps, Tiny("full", 4)}}) {
    const job::ReadJob read = job::ReadJobFile(LabFileText(jobs), {});
    ASSERT_TRUE(read.lab) << job::Format(read.problems, "lab.json");
    ASSERT_EQ(read.lab->experiments.size(), jobs.size());
    for (size_t i = 0; i < jobs.size(); ++i)
      EXPECT_EQ(job::ToJson(read.lab->experiments[i]), job::ToJson(jobs[i]));
  }
}

TEST(LabFileTextTest, EachJobHasItsFolderAgain) {
  const auto writing = [](const std::string& name, const std::string& dir) {
    job::JobSpec job = Tiny(name, 2);
    job.output.dir = dir;
    return job;
  };
  const std::vector<job::JobSpec> own = {writing("full", "/runs/full"),
                                         writing("lora", "/runs/lora")};
  EXPECT_EQ(Json::parse(LabFileText(own))["base"]["output"]["dir"], "/runs");
  for (const std::vector<job::JobSpec>& jobs :
       {own, {own[0], writing("lora", "/elsewhere")}, {writing("a", "/x"), Tiny("b", 2)}}) {
    const job::ReadJob read = job::ReadJobFile(LabFileText(jobs), {});
    ASSERT_TRUE(read.lab) << job::Format(read.problems, "lab.json");
    for (size_t i = 0; i < jobs.size(); ++i)
      EXPECT_EQ(read.lab->experiments[i].output.dir, jobs[i].output.dir);
  }
}

TEST(LabFileTextTest, ASectionThatOnlyOneJobHasIsSetAsAWhole) {
  job::JobSpec lora = Tiny("lora", 2);
  lora.lora = job::LoraSpec{.r = 8};
  EXPECT_EQ(Json::parse(LabFileText({Tiny("full", 2), lora}))["experiments"][1]["set"]["lora"]["r"],
            8);
  EXPECT_EQ(Json::parse(LabFileText({lora, Tiny("full", 2)}))["experiments"][1]["set"],
            Json({{"lora", nullptr}}));
}

}  // namespace
}  // namespace trainctl::client
