#include <limits>

#include "client/exit_code.h"
#include "common/job/job_json.h"
#include "tests/client/client_test.h"
#include "tests/client/scratch_folder.h"
#include "tests/client/trackers.h"

namespace trainctl::client {
namespace {

v1::MetricPoint PointAt(const std::string& name, int64_t step, double value) {
  v1::MetricPoint point;
  point.set_name(name);
  point.set_step(step);
  point.set_value(value);
  point.set_time(1'500'000 + 1000 * step);
  return point;
}

class MlflowTest : public ClientTest {
 protected:
  MlflowTest() {
    AddJob("j1", "a: \"b\"\x1b é\n", "SUCCEEDED");
    AddJob("j2", "tiny-4", "OOM_GPU");
    v1::JobView& first = coordinator_.jobs[0];
    first.set_owner("anna");
    first.set_message("all steps done");
    for (const char* tag : {"lab=2", "../way/out=x", "alone", "mlflow.user=mallory"})
      first.add_tags(tag);
    coordinator_.job_points["j1"] = {PointAt("loss", 0, 2.5), PointAt("loss", 3, 0.1),
                                     PointAt("loss", 4, std::numeric_limits<double>::quiet_NaN()),
                                     PointAt("memory_params_bytes", 1, 1e300),
                                     PointAt("memory_params_bytes", 1, 7)};
    for (size_t i : {3, 4}) coordinator_.job_points["j1"][i].set_rank(1);
    coordinator_.job_points["j1"][3].set_phase("after_forward");
  }

  void AddJob(const std::string& id, const std::string& name, const std::string& outcome) {
    v1::JobView& view = coordinator_.jobs.emplace_back(FinishedJob(id, name, outcome));
    view.set_group("g1");
    view.set_group_name("my-lab");
    job::JobSpec job{.name = id, .model = {.path = "/models/tiny"}, .data = {.path = "/rows.json"}};
    job.train.micro_batch_size = 2;
    coordinator_.details[id].set_job_json(job::ToJson(job));
  }

  Ended Export(const std::string& job, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"export", job, "--mlflow", folder_ / "ml"});
    return Trainctl(more);
  }

  std::string Run(const std::string& file) {
    const std::string submitted = std::to_string(coordinator_.jobs[0].submitted_at());
    return folder_.Read("ml/" + submitted + "/j1-" + submitted + "/" + file);
  }

  ScratchFolder folder_;
};

TEST_F(MlflowTest, AGroupIsAnExperimentWithARunForEachJob) {
  const Ended ended = Export("my-lab");
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(Run("metrics/loss"), "1500 2.5 0\n1503 0.1 3\n1504 nan 4\n");
  EXPECT_EQ(Run("params/train.micro_batch_size"), "2");
  EXPECT_EQ(Run("tags/mlflow.user"), "anna") << "a job's own tags are none of ours";
  EXPECT_EQ(Run("tags/_.._way_out"), "x");
  EXPECT_NE(Run("artifacts/report.md"), "");
  EXPECT_NE(ended.out.find("mlflow ui --backend-store-uri " + (folder_ / "ml")), std::string::npos)
      << ended.out;
}

TEST_F(MlflowTest, OneKindAtATime) {
  EXPECT_EQ(Export("j1", {"--tensorboard", folder_ / "tb"}).code, kExitUsage);
  const Ended none = Trainctl({"export", "j1"});
  EXPECT_EQ(none.code, kExitUsage);
  EXPECT_NE(none.err.find("as DIR or --tensorboard DIR or --mlflow DIR or --wandb DIR"),
            std::string::npos)
      << none.err;
}

TEST_F(MlflowTest, AJobThatWaitsIsARunToo) {
  coordinator_.jobs = {RunningJob("j1", "waiting")};
  coordinator_.jobs[0].set_state("QUEUED");
  coordinator_.job_points.clear();
  EXPECT_EQ(Export("j1").code, 0);
  EXPECT_NE(Run("meta.yaml").find("status: 2\n"), std::string::npos);
  EXPECT_TRUE(std::filesystem::is_directory(
      folder_ / "ml/" + std::to_string(coordinator_.jobs[0].submitted_at()) + "/j1-" +
      std::to_string(coordinator_.jobs[0].submitted_at()) + "/metrics"));
}

TEST_F(MlflowTest, TheRealMlflowReadsIt) {
  const std::string python = TrackersPython();
  if (python.empty()) GTEST_SKIP() << "no MLflow: tests/oracles trackers makes it ready";
  ASSERT_EQ(Export("my-lab").code, 0);
  EXPECT_EQ(PrintedBy(python, "read_mlflow.py", folder_ / "ml"),
            "experiment my-lab\n"
            "run a: \"b\"\\u001b é\n"
            " anna FINISHED 950000 1000000\n"
            "tag _.._way_out x\n"
            "tag alone \n"
            "tag lab 2\n"
            "tag mlflow.note.content all steps done\n"
            "tag mlflow.runName a: \"b\"\\u001b é\n"
            "\n"
            "tag mlflow.source.name trainctl\n"
            "tag mlflow.user anna\n"
            "tag trainctl.devices alpha/0 alpha/1\n"
            "tag trainctl.group g1\n"
            "tag trainctl.job j1\n"
            "tag trainctl.outcome SUCCEEDED\n"
            "param train.micro_batch_size 2\n"
            "point loss 1500 2.5 0\n"
            "point loss 1503 0.1 3\n"
            "point loss 1504 nan 4\n"
            "point memory_params_bytes.rank_1 1501 7.0 1\n"
            "point memory_params_bytes.rank_1.after_forward 1501 1e+300 1\n"
            "artifacts job.json report.md\n"
            "run tiny-4  FAILED 950000 1000000\n"
            "tag mlflow.runName tiny-4\n"
            "tag mlflow.source.name trainctl\n"
            "tag trainctl.devices alpha/0 alpha/1\n"
            "tag trainctl.group g1\n"
            "tag trainctl.job j2\n"
            "tag trainctl.outcome OOM_GPU\n"
            "param train.micro_batch_size 2\n"
            "artifacts job.json report.md\n");
}

TEST_F(MlflowTest, TheRealServerAnswersWithItsCurves) {
  const std::string python = TrackersPython();
  if (python.empty()) GTEST_SKIP() << "no MLflow: tests/oracles trackers makes it ready";
  ASSERT_EQ(Export("my-lab").code, 0);
  EXPECT_EQ(PrintedBy(python, "read_mlflow_server.py", folder_ / "ml"),
            "experiment my-lab\n"
            "run a: \"b\"\\u001b é\n"
            " FINISHED\n"
            "point loss 1500 2.5 0\n"
            "point loss 1503 0.1 3\n"
            "point loss 1504 NaN 4\n"
            "point memory_params_bytes.rank_1 1501 7.0 1\n"
            "point memory_params_bytes.rank_1.after_forward 1501 1e+300 1\n"
            "run tiny-4 FAILED\n");
}

}  // namespace
}  // namespace trainctl::client
