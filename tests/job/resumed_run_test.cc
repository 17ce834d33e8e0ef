#include "common/job/resumed_run.h"

#include <gmock/gmock.h>

#include "tests/job/valid_job.h"

namespace trainctl::job {
namespace {

using testing::HasSubstr;
using testing::Not;

// A job of ten steps that has ended, and saved its model.
ResumedRun Whole() {
  ResumedRun run{.id = "j1", .spec = SmallestJob(), .succeeded = true, .has_model = true};
  run.spec.name = "tiny";
  run.spec.output = {.dir = "/out", .save = Save::kFinal};
  run.spec.train.max_steps = 10;
  run.step = run.steps = 10;
  return run;
}

JobSpec Next(int64_t steps, const std::string& folder) {
  JobSpec job = Whole().spec;
  job.train.max_steps = steps;
  job.output.dir = folder;
  return job;
}

std::string Refusal(const JobSpec& job, const ResumedRun& earlier,
                    std::optional<int64_t> total_steps = std::nullopt) {
  const auto problem = CheckResumedRun(job, total_steps, earlier);
  return problem ? Format({*problem}, "tiny") : "";
}

TEST(CheckResumedRun, AJobThatHasMadeAllItsStepsIsRefusedAndSaysWhatToDo) {
  EXPECT_EQ(Refusal(Next(10, "/out"), Whole(), 10),
            "tiny: checkpoint.resume_job: \"j1\": expected a job that has steps left: tiny (j1) "
            "has made all its 10 steps, and its model is in /out; to train it on, give more steps, "
            "as with --train.epochs N or --train.max_steps N, and another folder for the new "
            "model: --output.dir DIR");
}

TEST(CheckResumedRun, MoreStepsDoNotGoOverItsModel) {
  const std::string refusal = Refusal(Next(20, "/data/../out/"), Whole(), 20);
  EXPECT_THAT(refusal, HasSubstr("give another folder for the new model: --output.dir DIR"));
  EXPECT_THAT(refusal, Not(HasSubstr("max_steps")));
  EXPECT_EQ(Refusal(Next(20, "/more"), Whole(), 20), "");
}

TEST(CheckResumedRun, AnotherFolderAloneTrainsNothing) {
  const std::string refusal = Refusal(Next(10, "/more"), Whole(), 10);
  EXPECT_THAT(refusal, HasSubstr("give more steps"));
  EXPECT_THAT(refusal, Not(HasSubstr("--output.dir")));
}

TEST(CheckResumedRun, WhereTheStepsAreNotKnownTheSettingsTell) {
  EXPECT_NE(Refusal(Next(10, "/more"), Whole()), "");
  EXPECT_EQ(Refusal(Next(20, "/more"), Whole()), "");
  JobSpec longer = Next(10, "/more");
  longer.train.epochs = 7;
  EXPECT_EQ(Refusal(longer, Whole()), "");
  EXPECT_NE(Refusal(longer, Whole(), 10), "") << "max_steps still ends it";
}

TEST(CheckResumedRun, AJobThatStoodStillGoesOn) {
  ResumedRun run = Whole();
  run.succeeded = run.has_model = false;
  run.step = 6;
  EXPECT_EQ(Refusal(Next(10, "/out"), run, 10), "");
}

TEST(CheckResumedRun, OneThatFailedBeforeItSavedItsModelMaySaveIt) {
  ResumedRun run = Whole();
  run.succeeded = run.has_model = false;
  EXPECT_EQ(Refusal(Next(10, "/out"), run, 10), "");
  run.has_model = true;
  EXPECT_NE(Refusal(Next(10, "/out"), run, 10), "") << "diverged, and saved";
  run.has_model = false;
  run.spec.output.save = Save::kNone;
  EXPECT_NE(Refusal(Next(10, "/out"), run, 10), "") << "it has nothing to save";
}

TEST(CheckResumedRun, CheckpointsAreNoModel) {
  EXPECT_FALSE(IsModel("checkpoint"));
  EXPECT_FALSE(IsModel("profile"));
  EXPECT_TRUE(IsModel("final"));
  EXPECT_TRUE(IsModel("adapter"));
}

}  // namespace
}  // namespace trainctl::job
