#include <gmock/gmock.h>

#include <sstream>

#include "client/exit_code.h"
#include "client/show/output.h"
#include "client/submit/sweep_curve.h"
#include "client/submit/sweep_points.h"
#include "common/job/batch.h"
#include "common/job/job_json.h"
#include "tests/client/client_test.h"
#include "tests/client/scratch_folder.h"

namespace trainctl::client {
namespace {

constexpr const char* kSweptJob =
    R"({"version": 1, "name": "tiny", "model": {"path": "/models/tiny"}, "data": {"path": "/data/rows.json"},
 "train": {"global_batch_size": 8, "micro_batch_size": 2}})";
constexpr const char* kAccumulating =
    R"({"version": 1, "name": "tiny", "model": {"path": "/models/tiny"},
 "data": {"path": "/data/rows.json"}, "train": {"accumulate_grad_batches": 4, "micro_batch_size": 2}})";

class SweepTest : public ClientTest {
 protected:
  SweepTest() {
    coordinator_.workers = {CpuWorker("alpha/0", "READY"), CpuWorker("alpha/1", "READY")};
  }

  base::Result<Sweep> Plan(const char* job, std::vector<job::Override> overrides) {
    JobFileOptions options{.path = "/jobs/job.json", .overrides = std::move(overrides)};
    const std::vector<job::Override> axes = TakeAxes(&options.overrides);
    return PlanSweep(job, options, axes);
  }

  Ended SweepJob(std::vector<std::string> more, const char* job = kSweptJob) {
    more.insert(more.begin(), {"sweep", folder_.Write("job.json", job)});
    return Trainctl(more);
  }

  // What each submitted job has in a setting, in order of submission.
  std::vector<std::string> Submitted(const std::string& key) const {
    std::vector<std::string> values;
    for (const v1::SubmitRequest& request : coordinator_.submissions) {
      for (const v1::JobSubmission& submission : request.jobs()) {
        for (const auto& [name, value] : job::Flatten(*job::FromJson(submission.job_json()))) {
          if (name == key) values.push_back(value);
        }
      }
    }
    return values;
  }

  // The next job to be followed ends so.
  void WillEnd(const std::string& id, const std::string& outcome) {
    coordinator_.watchings.push_back({.told = {FinishedJob(id, "", outcome)}});
    v1::ComparedJob& job = *coordinator_.comparison.add_jobs();
    job.set_id(id);
    if (coordinator_.comparison.rows().empty())
      coordinator_.comparison.add_rows()->set_key("step_seconds");
    v1::CompareValue& seconds = *coordinator_.comparison.mutable_rows(0)->add_values();
    if (outcome == "SUCCEEDED") seconds.set_number(2.0 * coordinator_.comparison.jobs_size());
  }

  ScratchFolder folder_;
};

using testing::HasSubstr;
using Words = std::vector<std::string>;

TEST(SweepPointsTest, ValuesAreSplitAtCommasOutsideBracketsAndQuotes) {
  EXPECT_EQ(SplitValues("1,2,4"), (Words{"1", "2", "4"}));
  EXPECT_EQ(SplitValues("[0.9,0.95],[0.9,0.999]"), (Words{"[0.9,0.95]", "[0.9,0.999]"}));
  EXPECT_EQ(SplitValues(R"("a,b",c)"), (Words{R"("a,b")", "c"}));
  EXPECT_EQ(SplitValues("8"), Words{"8"});
}

TEST_F(SweepTest, SeveralAxesMakeEveryCombinationTheLastVariesFastest) {
  const auto sweep = Plan(kSweptJob, {{"precision", "32-true,bf16-true"},
                                      {"train.micro_batch_size", "1,2"},
                                      {"train.epochs", "3"}});
  ASSERT_TRUE(sweep.ok()) << sweep.error().message;
  ASSERT_EQ(sweep->points.size(), 4u);
  EXPECT_EQ(sweep->points[0].job.name, "tiny-precision-32-true-micro_batch_size-1");
  EXPECT_EQ(sweep->points[1].values, (Words{"32-true", "2"}));
  EXPECT_EQ(sweep->points[2].values, (Words{"bf16-true", "1"}));
  EXPECT_EQ(sweep->points[3].job.train.epochs, 3);
}

TEST_F(SweepTest, TheGlobalBatchStaysAndAccumulationAdapts) {
  for (const char* job : {kSweptJob, kAccumulating}) {
    const auto sweep = Plan(job, {{"train.micro_batch_size", "1,8"}});
    ASSERT_TRUE(sweep.ok()) << sweep.error().message;
    EXPECT_EQ(job::PlanBatch(sweep->points[0].job)->accumulation, 8);
    EXPECT_EQ(job::PlanBatch(sweep->points[1].job)->accumulation, 1);
  }
}

TEST_F(SweepTest, AnotherRuleForTheGlobalBatchCanBeSaid) {
  const auto sweep =
      Plan(kSweptJob, {{"train.micro_batch_size", "1,8"}, {"train.accumulate_grad_batches", "2"}});
  ASSERT_TRUE(sweep.ok()) << sweep.error().message;
  EXPECT_EQ(job::PlanBatch(sweep->points[1].job)->global, 16);
}

TEST_F(SweepTest, AccumulationThatIsGivenKeepsItsMeaningWhereDevicesVary) {
  const auto sweep = Plan(kAccumulating, {{"devices", "1,2"}});
  ASSERT_TRUE(sweep.ok()) << sweep.error().message;
  EXPECT_EQ(job::PlanBatch(sweep->points[1].job)->global, 16);
}

TEST_F(SweepTest, WhatCannotBeSweptIsRefused) {
  EXPECT_NE(SweepJob({}).err.find("nothing varies"), std::string::npos);
  EXPECT_NE(SweepJob({"--set", "notes=a,b"}).err.find("nothing varies"), std::string::npos);
  EXPECT_THAT(SweepJob({"--set", "devices=1,1"}).err, HasSubstr("devices=1,1: 1 stands twice"));
  EXPECT_THAT(SweepJob({"--set", "optimizer.lr=0.1,1e-3,0.001"}).err,
              HasSubstr("0.1,1e-3,0.001: 1e-3 and 0.001 are the same"));
  EXPECT_NE(SweepJob({"--set", "devices=1,2", "--set", "devices=1,4"}).err.find("is varied twice"),
            std::string::npos);
  const Ended indivisible = SweepJob({"--set", "train.micro_batch_size=2,3"});
  EXPECT_EQ(indivisible.code, kExitUsage);
  EXPECT_NE(indivisible.err.find("tiny-micro_batch_size-3"), std::string::npos) << indivisible.err;
  EXPECT_EQ(SweepJob({"--set", "train.micro_batch_size=2,x"}).code, kExitUsage);
  EXPECT_TRUE(coordinator_.submissions.empty());
}

TEST_F(SweepTest, AllPointsAreSubmittedAsOneGroup) {
  const Ended ended = SweepJob({"--set", "train.micro_batch_size=1,2,4"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  ASSERT_EQ(coordinator_.submissions.size(), 1u);
  EXPECT_EQ(coordinator_.submissions[0].group_name(), "tiny-sweep");
  EXPECT_EQ(Submitted("train.micro_batch_size"), (Words{"1", "2", "4"}));
  EXPECT_NE(ended.out.find("trainctl compare g1"), std::string::npos) << ended.out;
}

TEST_F(SweepTest, WaitingShowsTheCurve) {
  WillEnd("j1", "SUCCEEDED");
  WillEnd("j2", "SUCCEEDED");
  coordinator_.watchings[0].told.push_back(coordinator_.watchings[1].told[0]);
  const Ended ended = SweepJob({"--set", "train.micro_batch_size=1,2", "--wait", "-o", "json"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  const Json json = Json::parse(ended.out);
  EXPECT_EQ(json["points"][1]["settings"]["train.micro_batch_size"], "2");
  EXPECT_EQ(json["points"][1]["step_seconds"], 4.0);
  EXPECT_EQ(json["points"][1]["outcome"], "SUCCEEDED");
}

TEST_F(SweepTest, StopAtOomRunsOneAfterTheOtherAndSkipsTheRest) {
  WillEnd("j1", "SUCCEEDED");
  WillEnd("j2", "OOM_GPU");
  const Ended ended =
      SweepJob({"--set", "train.micro_batch_size=1,2,4,8", "--stop-at-oom", "-o", "json"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(coordinator_.submissions.size(), 2u);
  const Json points = Json::parse(ended.out)["points"];
  EXPECT_EQ(points[0]["outcome"], "SUCCEEDED");
  EXPECT_EQ(points[1]["outcome"], "OOM_GPU");
  EXPECT_EQ(points[1]["step_seconds"], nullptr);
  EXPECT_EQ(points[2]["outcome"], "skipped");
  EXPECT_EQ(points[3]["id"], nullptr);
}

TEST_F(SweepTest, StopAtOomGoesOnWithTheNextValueOfTheOtherSetting) {
  WillEnd("j1", "OOM_GPU");
  WillEnd("j2", "SUCCEEDED");
  WillEnd("j3", "FAILED");
  const Ended ended = SweepJob({"--set", "precision=32-true,bf16-true", "--set",
                                "train.micro_batch_size=4,8", "--stop-at-oom"});
  EXPECT_EQ(ended.code, kExitJobFailed);
  EXPECT_EQ(Submitted("precision"), (Words{"32-true", "bf16-true", "bf16-true"}));
  EXPECT_NE(ended.out.find("skipped"), std::string::npos) << ended.out;
}

TEST_F(SweepTest, CtrlCNamesWhatStopAtOomHasNotSubmittedAndHowToGoOn) {
  coordinator_.watchings.push_back({.told = {RunningJob("j1", "")}});
  const std::vector<std::string> sweep = {"--set", "train.micro_batch_size=1,2,4", "--stop-at-oom"};
  const std::string undone =
      "Not submitted: train.micro_batch_size = 2, 4. To go on with them, type the same sweep with "
      "--skip 1";
  std::vector<std::string> hurried = sweep;
  hurried.insert(hurried.end(), {"--timeout", "1s"});
  const Ended timed_out = SweepJob(hurried);
  EXPECT_EQ(timed_out.code, kExitTimeout);
  EXPECT_EQ(farewell_, "Detached: the jobs go on. Follow again with: trainctl wait j1\n" + undone);
  EXPECT_NE(timed_out.err.find(undone), std::string::npos) << timed_out.err;
}

TEST_F(SweepTest, SkipGoesOnWhereCtrlCEndedASweep) {
  WillEnd("j1", "SUCCEEDED");
  const std::vector<std::string> sweep = {"--set", "train.micro_batch_size=1,2", "--stop-at-oom"};
  std::vector<std::string> skipping = sweep;
  skipping.insert(skipping.end(), {"--skip", "1", "-o", "json"});
  const Ended ended = SweepJob(skipping);
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(Submitted("train.micro_batch_size"), Words{"2"});
  EXPECT_EQ(farewell_, "Detached: the jobs go on. Follow again with: trainctl wait j1");
  EXPECT_EQ(Json::parse(ended.out)["points"][0]["outcome"], "skipped");
  skipping[4] = "2";
  EXPECT_NE(SweepJob(skipping).err.find("--skip 2: this sweep has 2 jobs"), std::string::npos);
}

TEST_F(SweepTest, TheCurveSaysWhatItsColumnsMean) {
  WillEnd("j1", "SUCCEEDED");
  WillEnd("j2", "SUCCEEDED");
  const Ended ended = SweepJob({"--set", "train.micro_batch_size=1,2", "--stop-at-oom"});
  EXPECT_NE(ended.out.find("s/step: the median, without the first step."), std::string::npos);
}

TEST_F(SweepTest, ADryRunSubmitsNothing) {
  const Ended ended = SweepJob({"--set", "train.micro_batch_size=1,2", "--dry-run"});
  EXPECT_EQ(ended.code, 0);
  EXPECT_THAT(ended.out, HasSubstr("nothing was submitted"));
  EXPECT_TRUE(coordinator_.submissions.empty());
}

TEST_F(SweepTest, ALabFileIsNoJobToSweep) {
  const Ended ended = SweepJob({"--set", "train.micro_batch_size=1,2"},
                               R"({"base": {"version": 1, "model": {"path": "/m"},
    "data": {"path": "/d"}, "train": {"micro_batch_size": 2}}, "experiments": [{"name": "a", "set": {}}]})");
  EXPECT_EQ(ended.code, kExitUsage);
  EXPECT_NE(ended.err.find("is a lab file"), std::string::npos) << ended.err;
}

TEST_F(SweepTest, VariantsStandSideBySideInADryRun) {
  const Ended ended = SweepJob({"--matrix", "precision=32-true,bf16-true", "--matrix",
                                "train.micro_batch_size=1,2", "--dry-run"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_NE(ended.out.find("precision  train.micro_batch_size  STEPS  S/STEP"), std::string::npos)
      << ended.out;
  EXPECT_NE(ended.out.find("\nbf16-true                       2  "), std::string::npos)
      << ended.out;
  const Ended records =
      SweepJob({"--matrix", "train.micro_batch_size=1,2", "--dry-run", "-o", "json"});
  EXPECT_EQ(Json::parse(records.out)["jobs"][1]["settings"],
            (Json{{"train.micro_batch_size", "2"}}));
}

TEST_F(SweepTest, SubmitWithAMatrixIsTheSameSweep) {
  const Words axes = {"--matrix", "precision=32-true,bf16-true", "--matrix", "train.epochs=1,2"};
  ASSERT_EQ(SweepJob(axes).code, 0);
  Words submit = {"submit", folder_.Write("job.json", kSweptJob), "--after", "j3,j4"};
  submit.insert(submit.end(), axes.begin(), axes.end());
  const Ended ended = Trainctl(submit);
  ASSERT_EQ(ended.code, 0) << ended.err;
  const v1::SubmitRequest& swept = coordinator_.submissions[0];
  const v1::SubmitRequest& submitted = coordinator_.submissions[1];
  EXPECT_EQ(submitted.group_name(), "tiny-sweep");
  ASSERT_EQ(submitted.jobs_size(), 4);
  for (int i = 0; i < 4; ++i) {
    job::JobSpec job = *job::FromJson(submitted.jobs(i).job_json());
    EXPECT_EQ(job.resources.after.size(), 2u);
    job.resources.after.clear();
    EXPECT_EQ(job::ToJson(job), swept.jobs(i).job_json());
  }
}

TEST_F(SweepTest, TheFileMayComeFromStandardInput) {
  std::istringstream job(kSweptJob);
  surroundings_.in = &job;
  EXPECT_EQ(Trainctl({"submit", "-", "--matrix", "seed=1,2"}).code, 0);
  EXPECT_EQ(Submitted("name"), (Words{"tiny-seed-1", "tiny-seed-2"}));
}

TEST_F(SweepTest, ValuesThatEndAlikeHaveNamesOfTheirOwn) {
  const auto sweep = Plan(kSweptJob, {{"data.path", "/a/rows.json,/b/rows.json"}});
  ASSERT_TRUE(sweep.ok()) << sweep.error().message;
  EXPECT_EQ(sweep->points[0].job.name, "tiny-path-rows.json");
  EXPECT_EQ(sweep->points[1].job.name, "tiny-path-rows.json-2");
}

TEST_F(SweepTest, ASettingWithOneValueInTheMatrixIsSetAndNamesNothing) {
  ASSERT_EQ(SweepJob({"--matrix", "train.epochs=2", "--matrix", "seed=1,2"}).code, 0);
  EXPECT_EQ(Submitted("train.epochs"), (Words{"2", "2"}));
  EXPECT_EQ(coordinator_.submissions[0].jobs_size(), 2);
  EXPECT_EQ(Submitted("name"), (Words{"tiny-seed-1", "tiny-seed-2"}));
}

TEST_F(SweepTest, AFaultOfTheMatrixIsNamedWithItsPlace) {
  const auto error = [this](const std::string& axis, const std::string& set = "devices=1") {
    const Ended ended = SweepJob({"--matrix", axis, "--set", set});
    EXPECT_EQ(ended.code, kExitUsage);
    return ended.err;
  };
  EXPECT_THAT(error("train.epochs"), HasSubstr("--matrix train.epochs: expected KEY=VALUE,VALUE"));
  EXPECT_THAT(error("train.epochs=1,,2"), HasSubstr("train.epochs=1,,2: a value is empty"));
  EXPECT_THAT(error("name=a,b"), HasSubstr("name=a,b: the jobs are named by what differs"));
  EXPECT_THAT(error("devices=1,2"), HasSubstr("devices is varied, and set to one value besides"));
  EXPECT_THAT(error("train.epochs=1,x"), HasSubstr("with train.epochs=x"));
  EXPECT_TRUE(coordinator_.submissions.empty());
}

TEST(SweepCurveTest, IsATableWithBars) {
  SweepPoint small{{"1"}, {.name = "tiny-1"}}, large{{"8"}, {.name = "tiny-8"}};
  const Sweep sweep{
      .name = "tiny", .axes = {{"train.micro_batch_size", {"1", "8"}}}, .points = {small, large}};
  std::vector<SweepResult> results = {
      {.point = &small,
       .id = "j1",
       .outcome = "SUCCEEDED",
       .step_seconds = 4.0,
       .tokens_per_second = 512.0,
       .peak_bytes = 1.0 * (1 << 30),
       .loss = 2.3456,
       .predicted_step_seconds = 3.5,
       .predicted_peak_bytes = 1.5 * (1 << 30)},
      {.point = &large, .id = "j2", .outcome = "OOM_GPU", .predicted_peak_bytes = 9.0 * (1 << 30)}};
  const std::string wanted =
      "JOB  train.micro_batch_size  OUTCOME    S/STEP              PREDICTED  TOKENS/S   LOSS      "
      "PEAK              PREDICTED\n"
      "j1                        1  SUCCEEDED  4.00 s  ██████████     3.50 s       512  2.346  "
      "1.00 GiB  ██████████   1.50 GiB\n"
      "j2                        8  OOM_GPU         –                      –         –      –  "
      "       –               9.00 GiB\n";
  EXPECT_EQ(CurveOf(sweep, results).table.Render({}), wanted);
  results[0].val_loss = 2.5;
  EXPECT_NE(CurveOf(sweep, results).table.Render({}).find("LOSS  VAL LOSS      PEAK"),
            std::string::npos);
}

}  // namespace
}  // namespace trainctl::client
