#include "client/exit_code.h"
#include "client/show/lab_differences.h"
#include "client/show/output.h"
#include "common/job/check_job.h"
#include "common/job/job_json.h"
#include "tests/checkout.h"
#include "tests/client/client_test.h"
#include "tests/client/scratch_folder.h"

namespace trainctl::client {
namespace {

constexpr const char* kClassLab =
    R"({"base": {"version": 1, "model": {"path": "/models/tiny"}, "data": {"path": "rows.json"},
 "train": {"global_batch_size": 8, "micro_batch_size": 2}},
 "experiments": [{"name": "full", "set": {}}, {"name": "lora", "set": {"lora": {"r": 8}}}]})";

job::JobSpec ClassJob(const std::string& name) {
  job::JobSpec job{
      .name = name, .model = {.path = "/home/anna/tiny/"}, .data = {.path = "rows.json"}};
  job.train.global_batch_size = 8;
  job.train.micro_batch_size = 2;
  if (name == "lora") job.lora = job::LoraSpec{.r = 8};
  return job;
}

class ClassTest : public ClientTest {
 protected:
  ClassTest() {
    lab_ = folder_.Write("lab.json", kClassLab);
    coordinator_.comparison.add_jobs();  // without a number
  }

  v1::JobView& AddRun(const std::string& id, const std::string& user, const job::JobSpec& job,
                      const std::string& outcome) {
    v1::JobView& view = coordinator_.jobs.emplace_back(FinishedJob(id, job.name, outcome));
    view.set_owner(user);
    view.set_submitted_at(static_cast<int64_t>(coordinator_.jobs.size()));
    coordinator_.details[id].set_job_json(job::ToJson(job::ResolveJob(job)));
    return view;
  }

  // A column of the coordinator's comparison.
  v1::ComparedJob& Measure(const std::string& id, double time, double loss, double samples = 64) {
    v1::CompareResponse& comparison = coordinator_.comparison;
    if (comparison.rows().empty()) {
      comparison.clear_jobs();
      for (const char* key : {"time_seconds", "loss", "samples", "step_seconds"})
        comparison.add_rows()->set_key(key);
    }
    v1::ComparedJob& job = *comparison.add_jobs();
    job.set_id(id);
    comparison.mutable_rows(0)->add_values()->set_number(time);
    comparison.mutable_rows(1)->add_values()->set_number(loss);
    comparison.mutable_rows(2)->add_values()->set_number(samples);
    comparison.mutable_rows(3)->add_values()->set_number(time / samples);
    return job;
  }

  Json Runs(std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"class", lab_, "-o", "json"});
    const Ended ended = Trainctl(more);
    EXPECT_EQ(ended.code, 0) << ended.err;
    return Json::parse(ended.out)["runs"];
  }

  ScratchFolder folder_;
  std::string lab_;
};

TEST_F(ClassTest, EachUserHasALineForEachExperiment) {
  AddRun("j1", "anna", ClassJob("full"), "SUCCEEDED");
  AddRun("j2", "bob", ClassJob("lora"), "OOM_GPU");
  AddRun("j3", "carol", ClassJob("full"), "SUCCEEDED");
  Measure("j1", 90, 2.5);
  Measure("j2", 1, 9);
  const Json runs = Runs({"--users", "bob,anna"});
  ASSERT_EQ(runs.size(), 4u);
  EXPECT_EQ(runs[0]["user"], "bob");
  EXPECT_EQ(runs[0]["job"], nullptr);
  EXPECT_EQ(runs[0]["done"], false);
  EXPECT_EQ(runs[1]["outcome"], "OOM_GPU");
  EXPECT_EQ(runs[2]["experiment"], "full");
  EXPECT_EQ(runs[2]["done"], true);
  EXPECT_EQ(runs[2]["time_seconds"], 90.0);
  EXPECT_EQ(runs[2]["memory_peak_allocated_bytes"], nullptr);
  EXPECT_EQ(runs[2]["changed"], "");
}

TEST_F(ClassTest, WithoutUsersItIsWhoHasRunOne) {
  AddRun("j1", "zoe", ClassJob("full"), "SUCCEEDED");
  AddRun("j2", "anna", ClassJob("another-lab"), "SUCCEEDED");
  const Ended ended = Trainctl({"class", lab_});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_NE(ended.out.find("zoe: 1 of 2 done; remains: lora\n"), std::string::npos) << ended.out;
  EXPECT_EQ(ended.out.find("anna"), std::string::npos);
}

TEST_F(ClassTest, ARunWithTheLabsSettingsCountsBeforeANewerOneWithOthers) {
  AddRun("j1", "anna", ClassJob("full"), "SUCCEEDED");
  job::JobSpec changed = ClassJob("full");
  changed.train.max_steps = 1;
  AddRun("j2", "anna", changed, "SUCCEEDED");
  AddRun("j3", "anna", ClassJob("full"), "FAILED");
  AddRun("j4", "bob", changed, "SUCCEEDED");
  const Json runs = Runs();
  EXPECT_EQ(runs[0]["job"], "j1");
  EXPECT_EQ(runs[0]["runs"], 3);
  EXPECT_EQ(runs[0]["done"], true);
  EXPECT_EQ(runs[2]["job"], "j4");
  EXPECT_EQ(runs[2]["changed"], "train.max_steps 1");
  EXPECT_EQ(runs[2]["done"], false);
  AddRun("j5", "bob", ClassJob("lora"), "SUCCEEDED");
  const std::string out = Trainctl({"class", lab_}).out;
  EXPECT_NE(out.find("\nanna: 1 of 2 done; remains: lora\n"
                     "bob: 1 of 2 done, 1 with other settings; remains: full\n"),
            std::string::npos)
      << out;
}

job::JobSpec Resumed(job::JobSpec job, const std::string& earlier) {
  job.checkpoint.resume_from = "/out/checkpoints";
  job.checkpoint.resume_job = earlier;
  return job;
}

TEST_F(ClassTest, AResumedRunIsDoneWhereAllItsPartsAreAsTheLabHasThem) {
  AddRun("j1", "anna", ClassJob("full"), "CANCELLED");
  AddRun("j2", "anna", Resumed(ClassJob("full"), "j1"), "PREEMPTED");
  AddRun("j3", "anna", Resumed(ClassJob("full"), "j2"), "SUCCEEDED");
  Measure("j1", 10, 3, 8);
  Measure("j2", 20, 2.5, 16);
  Measure("j3", 30, 2, 40);
  const Json runs = Runs();
  EXPECT_EQ(runs[0]["job"], "j3");
  EXPECT_EQ(runs[0]["done"], true);
  EXPECT_EQ(runs[0]["changed"], "");
  EXPECT_EQ(runs[0]["earlier_jobs"], "j2; j1");
  EXPECT_EQ(runs[0]["time_seconds"], 60.0) << "of the whole run";
  EXPECT_EQ(runs[0]["loss"], 2.0);
  const std::string out = Trainctl({"class", lab_}).out;
  EXPECT_NE(out.find("j3 after j2, j1"), std::string::npos) << out;
  EXPECT_NE(out.find("\nanna: 1 of 2 done; remains: lora\n"), std::string::npos) << out;
}

TEST_F(ClassTest, AResumedRunIsNotDoneWhereAPartIsOtherwiseOrNotKnown) {
  job::JobSpec changed = ClassJob("full");
  changed.optimizer.lr = 1;
  AddRun("j1", "anna", changed, "CANCELLED");
  AddRun("j2", "anna", Resumed(ClassJob("full"), "j1"), "SUCCEEDED");
  AddRun("j3", "bob", Resumed(ClassJob("full"), "j1"), "SUCCEEDED");
  AddRun("j4", "carol", Resumed(ClassJob("full"), "j99"), "SUCCEEDED");
  const Json runs = Runs();
  for (const int of_full : {0, 2, 4}) {
    EXPECT_EQ(runs[of_full]["experiment"], "full");
    EXPECT_EQ(runs[of_full]["done"], false);
  }
  EXPECT_EQ(runs[0]["changed"], "optimizer.lr 1.0");
  EXPECT_EQ(runs[2]["changed"], "checkpoint.resume_from /out/checkpoints; checkpoint.resume_job j1")
      << "of another user";
  EXPECT_EQ(runs[4]["changed"],
            "checkpoint.resume_from /out/checkpoints; checkpoint.resume_job j99");
}

TEST_F(ClassTest, MoreRunsThanTheCoordinatorTellsOfAtOnceAreAllCounted) {
  constexpr int kRuns = 20'001;  // two full answers, and one
  for (int i = 1; i <= kRuns; ++i) {
    v1::JobView& view =
        coordinator_.jobs.emplace_back(FinishedJob("j" + std::to_string(i), "full", "SUCCEEDED"));
    view.set_owner("anna");
  }
  AddRun("j20002", "bob", ClassJob("lora"), "SUCCEEDED");
  const Json runs = Runs({"--users", "anna,bob"});
  ASSERT_EQ(runs.size(), 4u);
  EXPECT_EQ(runs[0]["runs"], kRuns);
  EXPECT_EQ(runs[3]["job"], "j20002");
}

// kClassLab, in which `lora` is to run out of the memory of a smaller device.
constexpr const char* kLabOfMemory =
    R"({"base": {"version": 1, "model": {"path": "/models/tiny"}, "data": {"path": "rows.json"},
 "train": {"global_batch_size": 8, "micro_batch_size": 2},
 "resources": {"gpu_memory_limit": "64GiB"}},
 "experiments": [{"name": "full", "set": {}},
                 {"name": "lora", "set": {"lora": {"r": 8}}, "expect": "OOM"}]})";

TEST_F(ClassTest, AnExpectationOfOnesOwnMakesNothingDone) {
  lab_ = folder_.Write("memory.json", kLabOfMemory);
  job::JobSpec small = ClassJob("full");
  small.resources.gpu_memory_limit_bytes = int64_t{1} << 30;
  small.expect = job::Expect::kOom;
  AddRun("j1", "anna", small, "OOM_GPU").set_as_expected(true);
  const Json runs = Runs();
  EXPECT_EQ(runs[0]["done"], false);
  EXPECT_EQ(runs[0]["changed"], "resources.gpu_memory_limit 1GiB");
}

TEST_F(ClassTest, ARunThatSucceededWhereTheLabExpectsOtherwiseIsNotDone) {
  lab_ = folder_.Write("memory.json", kLabOfMemory);
  AddRun("j1", "anna", ClassJob("lora"), "SUCCEEDED");
  const Json runs = Runs();
  EXPECT_EQ(runs[1]["done"], false);
  EXPECT_EQ(runs[1]["changed"], "resources.gpu_memory_limit null");
}

TEST_F(ClassTest, ARunThatEndedAsTheLabExpectsIsDone) {
  lab_ = folder_.Write("memory.json", kLabOfMemory);
  job::JobSpec job = ClassJob("lora");
  job.resources.gpu_memory_limit_bytes = int64_t{64} << 30;
  AddRun("j1", "anna", job, "OOM_GPU");
  job.expect = job::Expect::kSucceeded;
  AddRun("j2", "bob", job, "OOM_GPU").set_as_expected(false);
  const Json runs = Runs();
  for (const int of_lora : {1, 3}) {
    EXPECT_EQ(runs[of_lora]["done"], true);
    EXPECT_EQ(runs[of_lora]["changed"], "");
  }
}

// What export writes of one user's runs is read as the reference of all.
TEST_F(ClassTest, NumbersLieAgainstAnExport) {
  AddRun("j1", "teacher", ClassJob("full"), "SUCCEEDED").set_group("g1");
  Measure("j1", 60, 2);
  coordinator_.comparison.mutable_jobs(0)->set_name("full");
  ASSERT_EQ(Trainctl({"export", "g1", folder_ / "reference"}).code, 0);
  coordinator_.comparison.Clear();
  AddRun("j2", "anna", ClassJob("full"), "SUCCEEDED");
  Measure("j2", 90, 0);
  for (const std::string& reference :
       {folder_ / "reference", folder_ / "reference/comparison.json"}) {
    const Json runs = Runs({"--users", "anna", "--reference", reference});
    EXPECT_EQ(runs[0]["time_seconds_ratio"], 1.5);
    EXPECT_EQ(runs[0]["loss_ratio"], 0.0);
    EXPECT_EQ(runs[0]["memory_peak_allocated_bytes_ratio"], nullptr);
    EXPECT_EQ(runs[1]["time_seconds_ratio"], nullptr);
  }
  const Ended csv = Trainctl(
      {"class", lab_, "--users", "anna", "--reference", folder_ / "reference", "-o", "csv"});
  EXPECT_TRUE(
      csv.out.starts_with("user,experiment,job,outcome,done,runs,time_seconds,"
                          "time_seconds_ratio,"))
      << csv.out;
}

// A short reference says nothing of the time of a whole run, nor of its loss.
TEST_F(ClassTest, OfAnotherAmountRatesAloneLieAgainstTheReference) {
  AddRun("j1", "teacher", ClassJob("full"), "SUCCEEDED").set_group("g1");
  Measure("j1", 8, 9, /*samples=*/32);
  coordinator_.comparison.mutable_jobs(0)->set_name("full");
  ASSERT_EQ(Trainctl({"export", "g1", folder_ / "reference"}).code, 0);
  coordinator_.comparison.Clear();
  AddRun("j2", "anna", ClassJob("full"), "SUCCEEDED");
  Measure("j2", 32, 3, /*samples=*/64);
  const Json runs = Runs({"--users", "anna", "--reference", folder_ / "reference"});
  EXPECT_EQ(runs[0]["step_seconds_ratio"], 2.0);
  EXPECT_EQ(runs[0]["time_seconds_ratio"], nullptr);
  EXPECT_EQ(runs[0]["loss_ratio"], nullptr);
}

TEST_F(ClassTest, OfRunsOnAnotherDeviceTheTimesLieAgainstNothing) {
  AddRun("j1", "teacher", ClassJob("full"), "SUCCEEDED").set_group("g1");
  v1::ComparedJob& reference = Measure("j1", 60, 2);
  reference.set_name("full");
  reference.set_device_name("NVIDIA H200");
  ASSERT_EQ(Trainctl({"export", "g1", folder_ / "reference"}).code, 0);
  coordinator_.comparison.Clear();
  AddRun("j2", "anna", ClassJob("full"), "SUCCEEDED");
  AddRun("j3", "bob", ClassJob("full"), "SUCCEEDED");
  Measure("j2", 30, 3).set_device_name("NVIDIA H200");
  Measure("j3", 90, 3).set_device_name("NVIDIA L4");
  const std::vector<std::string> asked = {"--users", "anna,bob", "--reference",
                                          folder_ / "reference"};
  const Json runs = Runs(asked);
  EXPECT_EQ(runs[0]["time_seconds_ratio"], 0.5);
  EXPECT_EQ(runs[2]["time_seconds_ratio"], nullptr);
  EXPECT_EQ(runs[2]["step_seconds_ratio"], nullptr);
  EXPECT_EQ(runs[2]["loss_ratio"], 1.5);
  EXPECT_EQ(runs[2]["device_name"], "NVIDIA L4");
  EXPECT_EQ(runs[2]["reference_device_name"], "NVIDIA H200");
  std::vector<std::string> words = {"class", lab_};
  words.insert(words.end(), asked.begin(), asked.end());
  const std::string out = Trainctl(words).out;
  EXPECT_NE(out.find("×REF: against " + (folder_ / "reference/comparison.json") +
                     ", on NVIDIA H200\n"
                     "†: no ratio, for the time is of another device: NVIDIA L4\n"),
            std::string::npos)
      << out;
}

TEST_F(ClassTest, NumbersLieAgainstTheShippedOnes) {
  AddRun("j1", "anna", ClassJob("single-7"), "SUCCEEDED");
  v1::ComparedJob& measured = Measure("j1", 58, 2);
  surroundings_.program_directory = checkout::File("build/bin");
  lab_ = folder_.Write("lab.json",
                       R"({"version": 1, "name": "single-7", "model": {"path": "/models/tiny"},
                           "data": {"path": "rows.json"}, "train": {"micro_batch_size": 2}})");
  const Json runs = Runs({"--users", "anna", "--reference", "h200"});
  // 0.58 s a step: tests/gpu/recipes.py measured it.
  EXPECT_NEAR(runs[0]["step_seconds_ratio"].get<double>(), 58 / 64.0 / 0.58, 0.1);
  EXPECT_EQ(runs[0]["reference"].get<std::string>().find("2026-11-23 on NVIDIA H200"), 0u);
  const Json beside_h100 = Runs({"--users", "anna", "--reference", "h100"});
  EXPECT_NEAR(beside_h100[0]["step_seconds_ratio"].get<double>(), 58 / 64.0 / 0.597, 0.02);
  EXPECT_EQ(Trainctl({"class", lab_, "--reference", "h300"}).code, kExitNotFound);
  const std::string out = Trainctl({"class", lab_, "--reference", "h200"}).out;
  EXPECT_NE(out.find("\n×REF: against 2026-11-23 on NVIDIA H200, "), std::string::npos) << out;
  measured.set_device_name("NVIDIA H100 80GB HBM3");
  EXPECT_EQ(Runs({"--reference", "h200"})[0]["step_seconds_ratio"], nullptr);
  EXPECT_TRUE(Runs({"--reference", "h100"})[0]["step_seconds_ratio"].is_number());
}

// Of four devices by the table of deploy/recipes/README.md, of BLIP-2 on four by nothing.
TEST_F(ClassTest, RowsOfSeveralDevicesLieAgainstWhatWasMeasuredOfThem) {
  surroundings_.program_directory = checkout::File("build/bin");
  lab_ = checkout::File("deploy/recipes/lab-multi.json");
  AddRun("j1", "anna", ClassJob("multi-2"), "SUCCEEDED");
  Measure("j1", 64 * 2 * 0.191, 2);
  for (const Json& run : Runs({"--users", "anna", "--reference", "h200"})) {
    EXPECT_NE(run["reference"], nullptr) << run["experiment"];
    if (run["experiment"] != "multi-2") continue;
    EXPECT_NEAR(run["step_seconds_ratio"].get<double>(), 2, 1e-6);
  }
  lab_ = checkout::File("deploy/recipes/lab-blip.json");
  const Ended ended = Trainctl({"class", lab_, "--users", "anna", "--reference", "h200"});
  EXPECT_NE(ended.out.find("REFERENCE"), std::string::npos) << ended.out;
  for (const Json& run : Runs({"--users", "anna", "--reference", "h200"})) {
    const bool was_measured = run["experiment"] != "blip-2" && run["experiment"] != "blip-3";
    EXPECT_EQ(run["reference"].is_string(), was_measured) << run.dump();
    EXPECT_NE(ended.out.find(run["experiment"].get<std::string>()), std::string::npos);
  }
}

TEST_F(ClassTest, AReferenceThatIsNoneIsRefused) {
  for (const char* text : {"no JSON", "[]", R"({"jobs": 1, "rows": []})"}) {
    const Ended ended =
        Trainctl({"class", lab_, "--reference", folder_.Write("reference.json", text)});
    EXPECT_EQ(ended.code, kExitUsage);
    EXPECT_NE(ended.err.find("reference.json: expected a comparison"), std::string::npos);
  }
  EXPECT_EQ(Trainctl({"class", lab_, "--reference", folder_ / "none"}).code, kExitNotFound);
  const std::string odd =
      R"({"jobs": [{"name": 1}, 2], "rows": [3, {"key": "loss", "values": [1, 2, 3]}]})";
  EXPECT_EQ(Trainctl({"class", lab_, "--reference", folder_.Write("odd.json", odd)}).code, 0);
}

TEST_F(ClassTest, ExperimentsThatTheReferenceLacksAreNamed) {
  const auto warned = [this](const std::string& text) {
    return Trainctl({"class", lab_, "--reference", folder_.Write("reference.json", text)}).err;
  };
  const std::string some =
      R"({"jobs": [{"name": "full"}], "rows": [{"key": "loss", "values": [1]}]})";
  EXPECT_NE(warned(some).find("has not all experiments of " + lab_ +
                              ": nothing is measured against it of lora\n"),
            std::string::npos)
      << warned(some);
  EXPECT_NE(warned(R"({"jobs": [], "rows": []})").find("has no experiment of " + lab_),
            std::string::npos);
}

TEST_F(ClassTest, AFileOfUsersHasRemarks) {
  AddRun("j1", "anna", ClassJob("full"), "SUCCEEDED");
  const std::string users = folder_.Write("users", "# section 2\nanna\n\n bob  # audits\nanna\n");
  const Json runs = Runs({"--users-file", users, "--users", "dora"});
  ASSERT_EQ(runs.size(), 6u);
  EXPECT_EQ(runs[2]["user"], "anna");
  EXPECT_EQ(runs[5]["user"], "bob");
  EXPECT_EQ(Trainctl({"class", lab_, "--users-file", folder_.Write("none", "#\n")}).code,
            kExitUsage);
}

TEST(LabDifferences, PathsOfOnesOwnAndRemarksAreNone) {
  job::JobSpec lab = ClassJob("full"), run = lab;
  run.name = "mine";
  run.data.path = "/elsewhere/rows.json";
  run.output.dir = "/out";
  run.resources.priority = 3;
  run.expect = job::Expect::kOom;
  run.train.global_batch_size.reset();
  run.train.accumulate_grad_batches = 4;
  EXPECT_EQ(DifferencesFromLab(lab, run), std::vector<std::string>());
  run.data.path = "/elsewhere/others.json";
  EXPECT_EQ(DifferencesFromLab(lab, run), std::vector<std::string>{"data.path others.json"});
  run = lab;
  run.lora = job::LoraSpec{.r = 8};
  EXPECT_FALSE(DifferencesFromLab(lab, run).empty());
  EXPECT_FALSE(DifferencesFromLab(run, lab).empty());
}

}  // namespace
}  // namespace trainctl::client
