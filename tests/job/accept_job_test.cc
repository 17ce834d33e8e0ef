#include "common/estimate/accept_job.h"

#include <gmock/gmock.h>

#include "tests/job/tiny_llama.h"
#include "tests/job/valid_job.h"

namespace trainctl::job {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

Acceptance WithoutWeights(bool force) {
  Inspection inspection = tiny_llama::TinyLlama();
  inspection.rows = 1000;
  inspection.missing_weights = "no weights in '/models/tiny'";
  return AcceptJob({.job = SmallestJob(), .inspection = inspection, .force = force}).value();
}

TEST(AcceptJob, RefusesAModelWhoseWeightsAreNotThere) {
  const Acceptance refused = WithoutWeights(false);
  ASSERT_EQ(refused.problems.size(), 1u);
  EXPECT_EQ(refused.problems[0].path, "model.path");
  EXPECT_EQ(refused.problems[0].hint, "no weights in '/models/tiny'");
  EXPECT_TRUE(refused.plan) << "it is predicted all the same";
}

TEST(AcceptJob, ForceTakesItBeforeItsWeightsAreThere) {
  const Acceptance forced = WithoutWeights(true);
  EXPECT_THAT(forced.problems, IsEmpty());
  ASSERT_EQ(forced.overridden.size(), 1u);
  EXPECT_THAT(forced.overridden[0].consequence, HasSubstr("weights"));
}

TEST(AcceptJob, RefusesWhatGoesOnFromARunThatHasNothingLeft) {
  JobAtSite question{.job = SmallestJob()};
  question.resumed = ResumedRun{.id = "j1", .spec = question.job, .succeeded = true};
  question.resumed->step = question.resumed->steps = 1'000'000;
  question.job.train.epochs = 2;
  EXPECT_THAT(AcceptJob(question)->problems, IsEmpty()) << "what its data make is not known";
  question.inspection = tiny_llama::TinyLlama();
  question.inspection->rows = 1000;
  const Acceptance refused = AcceptJob(question).value();
  ASSERT_EQ(refused.problems.size(), 1u);
  EXPECT_EQ(refused.problems[0].path, "checkpoint.resume_job");
}

}  // namespace
}  // namespace trainctl::job
