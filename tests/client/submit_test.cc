#include <stdlib.h>

#include <filesystem>

#include "client/exit_code.h"
#include "client/show/output.h"
#include "client/submit/job_file.h"
#include "common/base/file.h"
#include "common/estimate/prediction.h"
#include "common/job/job_json.h"
#include "tests/client/client_test.h"
#include "tests/client/golden.h"

namespace trainctl::client {
namespace {

constexpr const char* kJob = R"({"version": 1, "name": "tiny",
 "model": {"path": "/models/tiny", "init": "random"},
 "data": {"path": "/data/rows.json", "val_split_fraction": 0.1},
 "train": {"global_batch_size": 8, "micro_batch_size": 2, "max_seq_length": 128}})";

constexpr const char* kLab =
    R"({"base": {"version": 1, "model": {"path": "/models/tiny"}, "data": {"path": "/data/rows.json"},
 "train": {"global_batch_size": 8, "micro_batch_size": 2}},
 "experiments": [{"name": "micro-2", "set": {}}, {"name": "micro-4", "set": {"train.micro_batch_size": 4}}]})";

class SubmitTest : public ClientTest {
 protected:
  SubmitTest() {
    char folder[] = "/tmp/trainctl-submit-XXXXXX";
    folder_ = mkdtemp(folder);
    coordinator_.workers = {CpuWorker("alpha/0", "READY"), CpuWorker("alpha/1", "READY")};
    coordinator_.inspection = InspectionOf(100);
  }
  ~SubmitTest() override { std::filesystem::remove_all(folder_); }

  std::string File(const std::string& name, const std::string& text) {
    const std::string path = folder_ + "/" + name;
    EXPECT_TRUE(base::WriteFileAtomically(path, text).ok());
    return path;
  }

  static job::Inspection SmallModel(int64_t rows) {
    job::Inspection inspection;
    inspection.model.layers = 2;
    inspection.model.hidden = 64;
    inspection.model.intermediate = 128;
    inspection.model.heads = inspection.model.kv_heads = 4;
    inspection.model.head_dim = 16;
    inspection.model.vocab = 512;
    inspection.model.max_positions = 2048;
    inspection.rows = rows;
    inspection.longest_row = 100;
    inspection.total_tokens = 50 * rows;
    inspection.data_digest = "d1";
    return inspection;
  }

  static v1::InspectResponse InspectionOf(int64_t rows) {
    v1::InspectResponse response;
    response.set_inspection_json(job::ToJson(SmallModel(rows)));
    return response;
  }

  // Without the name of the temporary folder.
  std::string Portable(std::string text) const {
    for (size_t at = text.find(folder_); at != std::string::npos; at = text.find(folder_))
      text.replace(at, folder_.size(), "FOLDER");
    return text;
  }

  job::JobSpec SubmittedJob(int i = 0) const {
    const base::Result<job::JobSpec> job =
        job::FromJson(coordinator_.submissions.back().jobs(i).job_json());
    EXPECT_TRUE(job.ok());
    return *job;
  }

  std::string folder_;
};

TEST_F(SubmitTest, SaysWhatWasAcceptedAndHowToFollow) {
  const Ended ended = Trainctl({"submit", File("tiny.json", kJob)});
  EXPECT_EQ(ended.code, 0) << ended.err;
  ExpectGolden("submit.txt", ended.out);
}

TEST_F(SubmitTest, SendsTheResolvedJobWithInspectionAndPrediction) {
  Trainctl({"submit", File("tiny.json", kJob), "--train.micro_batch_size", "4", "--set",
            "optimizer.lr=1e-3", "--name", "other"});
  ASSERT_EQ(coordinator_.submissions.size(), 1u);
  const v1::SubmitRequest& request = coordinator_.submissions.front();
  EXPECT_EQ(request.request_id(), "request-1");
  EXPECT_EQ(request.group_name(), "");
  EXPECT_EQ(SubmittedJob().name, "other");
  EXPECT_EQ(SubmittedJob().train.micro_batch_size, 4);
  EXPECT_EQ(SubmittedJob().optimizer.lr, 1e-3);
  EXPECT_EQ(job::InspectionFromJson(request.jobs(0).inspection_json())->rows, 100);
  EXPECT_GT(job::MemoryEstimateFromJson(request.jobs(0).prediction_json())->peak_allocated, 0);
}

TEST_F(SubmitTest, JsonIsIdAndName) {
  EXPECT_EQ(Json::parse(Trainctl({"submit", File("tiny.json", kJob), "-o", "json"}).out),
            Json({{"schema", "trainctl/v1"}, {"id", "j1"}, {"name", "tiny"}}));
}

TEST_F(SubmitTest, WaitingJsonIsTheEndedJob) {
  coordinator_.watchings = {{{FinishedJob("j1", "tiny", "OOM_GPU")}}};
  const Ended ended = Trainctl({"submit", File("tiny.json", kJob), "--wait", "-o", "json"});
  EXPECT_EQ(ended.code, kExitOutOfMemory);
  const Json json = Json::parse(ended.out);
  EXPECT_EQ(json["id"], "j1");
  EXPECT_EQ(json["state"], "FINISHED");
  EXPECT_EQ(json["outcome"], "OOM_GPU");
}

TEST_F(SubmitTest, WaitingJsonOfALabIsItsEndedJobs) {
  coordinator_.watchings = {
      {{FinishedJob("j1", "micro-2", "SUCCEEDED"), FinishedJob("j2", "micro-4", "OOM_GPU")}}};
  const Ended ended = Trainctl({"submit", File("my-lab.json", kLab), "--wait", "-o", "json"});
  const Json json = Json::parse(ended.out);
  EXPECT_EQ(json["group"], "g1");
  EXPECT_EQ(json["jobs"][1]["outcome"], "OOM_GPU");
}

TEST_F(SubmitTest, ASecondJobOfANameIsNoted) {
  const std::string file = File("tiny.json", kJob);
  EXPECT_EQ(Trainctl({"submit", file}).err.find("have the name"), std::string::npos);
  const Ended second = Trainctl({"submit", file});
  EXPECT_EQ(second.code, 0);
  EXPECT_NE(second.err.find("note: 1 job has the name 'tiny': j1, and has not ended; from now on "
                            "the name means the new one"),
            std::string::npos)
      << second.err;
  for (v1::JobView& job : coordinator_.jobs) job.set_state("FINISHED");
  EXPECT_EQ(Trainctl({"submit", file}).err.find("the name"), std::string::npos);
}

TEST_F(SubmitTest, AnEmptyNameIsRefused) {
  const Ended ended = Trainctl({"submit", File("tiny.json", kJob), "--name", ""});
  EXPECT_EQ(ended.code, kExitUsage);
  EXPECT_NE(ended.err.find("--name is empty: expected NAME"), std::string::npos) << ended.err;
}

TEST_F(SubmitTest, ALabFileIsAGroup) {
  const Ended ended = Trainctl({"submit", File("my-lab.json", kLab), "-o", "json"});
  EXPECT_EQ(Json::parse(ended.out), Json::parse(R"({"schema": "trainctl/v1", "group": "g1",
    "jobs": [{"id": "j1", "name": "micro-2"}, {"id": "j2", "name": "micro-4"}]})"));
  EXPECT_EQ(coordinator_.submissions.front().group_name(), "my-lab");
  EXPECT_EQ(SubmittedJob(1).train.micro_batch_size, 4);
}

TEST_F(SubmitTest, ExperimentsWithTheSameModelAndDataAreInspectedOnce) {
  Trainctl({"submit", File("my-lab.json", kLab)});
  EXPECT_EQ(coordinator_.inspections_asked, 1);
}

TEST_F(SubmitTest, ANameOfALabFileIsTheGroups) {
  Trainctl({"submit", File("my-lab.json", kLab), "--name", "second"});
  EXPECT_EQ(coordinator_.submissions.front().group_name(), "second");
  EXPECT_EQ(SubmittedJob(0).name, "micro-2");
}

TEST_F(SubmitTest, AllProblemsOfAFileAreListedAndNothingIsSent) {
  const Ended ended =
      Trainctl({"submit", File("bad.json", "{\"version\": 1,\n \"presicion\": 3}")});
  EXPECT_EQ(ended.code, kExitUsage);
  EXPECT_EQ(ended.out, "");
  EXPECT_NE(ended.err.find("bad.json:2: presicion"), std::string::npos) << ended.err;
  EXPECT_NE(ended.err.find("model.path"), std::string::npos) << ended.err;
  EXPECT_TRUE(coordinator_.submissions.empty());
}

TEST_F(SubmitTest, AMissingFileIsNotFound) {
  const Ended ended = Trainctl({"submit", folder_ + "/none.json"});
  EXPECT_EQ(ended.code, kExitNotFound);
  EXPECT_NE(ended.err.find("none.json"), std::string::npos);
}

TEST_F(SubmitTest, AnAnswerThatIsLostIsAskedForAgainWithTheSameRequestId) {
  coordinator_.lost_answers = 2;
  const Ended ended = Trainctl({"submit", File("tiny.json", kJob), "-o", "name"});
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.out, "j1\n");
  ASSERT_EQ(coordinator_.submissions.size(), 3u);
  for (const v1::SubmitRequest& request : coordinator_.submissions)
    EXPECT_EQ(request.request_id(), "request-1");
  EXPECT_EQ(coordinator_.jobs.size(), 1u);
}

TEST_F(SubmitTest, ACoordinatorThatNeverAnswersIsUnreachable) {
  coordinator_.unreachable = true;
  EXPECT_EQ(Trainctl({"submit", File("tiny.json", kJob)}).code, kExitUnreachable);
}

TEST_F(SubmitTest, WhenNoWorkerAnswersItWarnsAndSubmits) {
  coordinator_.inspection = base::Error{base::Code::kUnavailable, "no worker answers"};
  const Ended ended = Trainctl({"submit", File("tiny.json", kJob)});
  EXPECT_EQ(ended.code, 0);
  EXPECT_NE(ended.err.find("could not be inspected (no worker answers)"), std::string::npos);
  EXPECT_EQ(coordinator_.submissions.front().jobs(0).inspection_json(), "");
}

TEST_F(SubmitTest, MoreDevicesThanTheSiteHasAreRefusedBySubmitAndToldByDryRun) {
  const std::string path = File("tiny.json", kJob);
  const Ended refused = Trainctl({"submit", path, "--devices", "4"});
  EXPECT_EQ(refused.code, kExitUsage);
  EXPECT_NE(refused.err.find("devices: 4: expected at most 2"), std::string::npos) << refused.err;
  EXPECT_TRUE(coordinator_.submissions.empty());
  const Ended told = Trainctl({"submit", path, "--devices", "4", "--dry-run"});
  EXPECT_EQ(told.code, kExitWouldNotRun);
  EXPECT_NE(told.out.find("would be refused here: tiny: devices: 4: expected at most 2"),
            std::string::npos)
      << told.out;
}

TEST_F(SubmitTest, AModelThatFitsNoDeviceIsRefusedUnlessThatIsExpected) {
  for (v1::WorkerView& worker : coordinator_.workers)
    worker.mutable_device()->set_memory_bytes(100'000);
  const std::string path = File("tiny.json", kJob);
  const Ended refused = Trainctl({"submit", path});
  EXPECT_EQ(refused.code, kExitUsage);
  EXPECT_NE(refused.err.find("predicted peak"), std::string::npos) << refused.err;
  EXPECT_EQ(Trainctl({"submit", path, "--expect", "OOM"}).code, 0);
}

TEST_F(SubmitTest, ALimitOfItsOwnThatIsTooSmallIsRefusedWithTheSettingsThatWouldFit) {
  const Ended ended =
      Trainctl({"submit", File("tiny.json", kJob), "--resources.gpu_memory_limit", "5MiB"});
  EXPECT_EQ(ended.code, kExitUsage);
  EXPECT_NE(ended.err.find("its resources.gpu_memory_limit"), std::string::npos) << ended.err;
  EXPECT_NE(ended.err.find("--train.micro_batch_size 1 ("), std::string::npos) << ended.err;
}

TEST_F(SubmitTest, ForceSubmitsWhatIsPredictedNotToFitAndSaysSo) {
  const Ended ended = Trainctl(
      {"submit", File("tiny.json", kJob), "--resources.gpu_memory_limit", "5MiB", "--force"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_NE(ended.err.find("it will probably end OOM_GPU"), std::string::npos) << ended.err;
  EXPECT_TRUE(coordinator_.submissions.at(0).force());
}

TEST_F(SubmitTest, AnAutomaticMicroBatchIsChosenSaidAndSentAsANumber) {
  const Ended ended =
      Trainctl({"submit", File("tiny.json", kJob), "--train.micro_batch_size", "auto"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_NE(ended.out.find("micro   auto: 8 fits: "), std::string::npos) << ended.out;
  EXPECT_EQ(SubmittedJob().train.micro_batch_size, 8);
  EXPECT_EQ(SubmittedJob().train.global_batch_size, 8);
  EXPECT_TRUE(coordinator_.submissions.at(0).jobs(0).micro_batch_auto())
      << "the number is to be proven";
}

TEST_F(SubmitTest, ANumberNeedsNoProof) {
  EXPECT_EQ(Trainctl({"submit", File("tiny.json", kJob)}).code, 0);
  EXPECT_FALSE(coordinator_.submissions.at(0).jobs(0).micro_batch_auto());
}

TEST_F(SubmitTest, WhatTheOnlyHostCantReadIsRefusedUnlessForced) {
  coordinator_.inspection = base::Error{base::Code::kInvalid, "no file '/data/rows.json'"};
  const std::string path = File("tiny.json", kJob);
  const Ended refused = Trainctl({"submit", path});
  EXPECT_EQ(refused.code, kExitUsage);
  EXPECT_NE(refused.err.find("no file '/data/rows.json'"), std::string::npos) << refused.err;
  EXPECT_TRUE(coordinator_.submissions.empty());
  EXPECT_EQ(Trainctl({"submit", path, "--dry-run"}).code, kExitWouldNotRun);
  EXPECT_EQ(Trainctl({"submit", path, "--force"}).code, 0);
}

TEST_F(SubmitTest, WhatNoHostOfSeveralCanReadIsRefusedOnceAllAreThere) {
  coordinator_.inspection = base::Error{base::Code::kInvalid, "no file '/data/rows.json'"};
  const std::string path = File("tiny.json", kJob);
  coordinator_.workers.back().set_host("elsewhere");
  EXPECT_EQ(Trainctl({"submit", path}).code, kExitUsage);
  EXPECT_EQ(Trainctl({"submit", path, "--dry-run"}).code, kExitWouldNotRun);
  coordinator_.workers.back().set_state("LOST");
  EXPECT_EQ(Trainctl({"submit", path}).code, 0) << "the host that is away may have it";
}

TEST_F(SubmitTest, AFolderOfAnotherJobIsRefusedAndADryRunSaysSo) {
  job::Inspection inspection = SmallModel(64);
  inspection.output = {job::FolderOwner{"site-1", "j3", "old"}, 1, "config.json"};
  const auto answer = [](const job::Inspection& found) {
    v1::InspectResponse response;
    response.set_inspection_json(job::ToJson(found));
    return response;
  };
  coordinator_.inspection = answer(inspection);
  coordinator_.site = "site-1";
  const std::string path = File("tiny.json", kJob);
  const std::vector<std::string> output = {"--output.dir", "/out", "--output.save", "final"};
  const auto submit = [&](std::vector<std::string> words) {
    words.insert(words.end(), output.begin(), output.end());
    return Trainctl(words);
  };
  const Ended refused = submit({"submit", path, "--force"});
  EXPECT_EQ(refused.code, kExitUsage);
  EXPECT_NE(refused.err.find("it belongs to j3 (old)"), std::string::npos) << refused.err;
  EXPECT_EQ(submit({"submit", path, "--dry-run"}).code, kExitWouldNotRun);
  inspection.output->contents = "";
  coordinator_.inspection = answer(inspection);
  EXPECT_EQ(submit({"submit", path}).code, 0) << "the job has ended and written nothing";
}

TEST_F(SubmitTest, AFolderThatAQueuedJobNamesIsRefusedAndADryRunSaysSo) {
  v1::JobView queued = RunningJob("j7", "other");
  queued.set_state("QUEUED");
  queued.set_output_dir("/out");
  v1::JobView ended = FinishedJob("j6", "older", "SUCCEEDED");
  ended.set_output_dir("/free");
  coordinator_.jobs = {queued, ended};
  const std::string path = File("tiny.json", kJob);
  const auto dry_run = [&](const std::string& folder) {
    return Trainctl(
        {"submit", path, "--dry-run", "--output.save", "final", "--output.dir", folder});
  };
  const Ended refused = dry_run("/data/../out/");
  EXPECT_EQ(refused.code, kExitWouldNotRun);
  EXPECT_NE(refused.out.find("it is that of j7, which has not ended"), std::string::npos)
      << refused.out;
  EXPECT_EQ(dry_run("/free").code, 0) << "its job has ended";
  EXPECT_EQ(Trainctl({"submit", path, "--dry-run", "--output.dir", "/out"}).code, 0)
      << "it writes nothing there";
}

TEST_F(SubmitTest, OptionsThatNeedAnotherAreRefusedWithoutIt) {
  const std::string path = File("tiny.json", kJob);
  for (const auto& [option, partner] : std::vector<std::pair<std::string, std::string>>{
           {"--timeout", "--wait"}, {"--within", "--dry-run"}}) {
    const Ended ended = Trainctl({"submit", path, option, "3h"});
    EXPECT_EQ(ended.code, kExitUsage);
    EXPECT_NE(ended.err.find(option + " has a meaning only with " + partner), std::string::npos)
        << ended.err;
  }
  EXPECT_TRUE(coordinator_.submissions.empty());
}

TEST_F(SubmitTest, AnAutomaticMicroBatchNeedsTheModel) {
  coordinator_.inspection = base::Error{base::Code::kUnavailable, "no worker answers"};
  const Ended ended =
      Trainctl({"submit", File("tiny.json", kJob), "--train.micro_batch_size", "auto"});
  EXPECT_EQ(ended.code, kExitUsage);
  EXPECT_NE(ended.err.find("train.micro_batch_size: \"auto\": expected a number"),
            std::string::npos)
      << ended.err;
}

TEST_F(SubmitTest, FewerRowsThanAGlobalBatchAreAFaultOfTheFile) {
  coordinator_.inspection = InspectionOf(5);
  for (const std::vector<std::string>& mode : {std::vector<std::string>{}, {"--dry-run"}}) {
    std::vector<std::string> words = {"submit", File("tiny.json", kJob)};
    words.insert(words.end(), mode.begin(), mode.end());
    EXPECT_EQ(Trainctl(words).code, kExitUsage);
  }
}

TEST_F(SubmitTest, DryRunShowsBatchStepsMemoryPlaceAndTheResolvedJob) {
  const Ended ended = Trainctl({"submit", File("tiny.json", kJob), "--dry-run"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_TRUE(coordinator_.submissions.empty());
  ExpectGolden("dry-run.txt", Portable(ended.out));
}

TEST_F(SubmitTest, DryRunAsJson) {
  const Json json =
      Json::parse(Trainctl({"submit", File("tiny.json", kJob), "--dry-run", "-o", "json"}).out);
  EXPECT_EQ(json.begin().key(), "schema");
  const Json& job = json["jobs"][0];
  EXPECT_EQ(job["steps"], 11);  // floor(90 / 8)
  EXPECT_EQ(job["batch"]["accumulation"], 4);
  EXPECT_EQ(job["job"]["strategy"], "single");
  EXPECT_EQ(job["would_run_on"], Json::array({"alpha/0", "alpha/1"}));
  EXPECT_GT(job["memory"]["peak_allocated"], 0);
}

TEST_F(SubmitTest, DryRunWorksWithoutACoordinator) {
  surroundings_.environment_server = "";
  const Ended ended = Trainctl({"submit", File("tiny.json", kJob), "--dry-run"});
  EXPECT_EQ(ended.code, 0);
  EXPECT_NE(ended.err.find("no coordinator is known"), std::string::npos);
  EXPECT_NE(ended.out.find("global 8 = micro 2 × 1 device × accumulation 4"), std::string::npos);
}

TEST_F(SubmitTest, WithoutACoordinatorTheRankBesideTrainctlInspects) {
  surroundings_.environment_server = "";
  programs_["/bin/trainrank"] = {.out = job::ToJson(SmallModel(100)) + "\n"};
  const Ended ended = Trainctl({"submit", File("tiny.json", kJob), "--dry-run"});
  EXPECT_NE(ended.out.find("11 optimizer steps"), std::string::npos) << ended.out;
  EXPECT_EQ(job::FromJson(program_input_)->name, "tiny");
}

TEST_F(SubmitTest, SubmitWithoutACoordinatorSaysHowToNameOne) {
  surroundings_.environment_server = "";
  const Ended ended = Trainctl({"submit", File("tiny.json", kJob)});
  EXPECT_EQ(ended.code, kExitUsage);
  EXPECT_NE(ended.err.find("--server HOST:PORT"), std::string::npos);
}

TEST_F(SubmitTest, TheTimeIsPredictedFromEarlierRunsOnTheSameDevice) {
  v1::EarlierRunsResponse earlier;
  v1::ShapeRuns* runs = earlier.add_jobs();
  for (const auto& [device, seconds] :
       {std::pair("NVIDIA H200", 0.01), std::pair("CPU slot (1 thread)", 0.5)}) {
    v1::DeviceRuns* of_device = runs->add_devices();
    of_device->set_device_name(device);
    of_device->set_step_seconds(seconds);
    of_device->set_runs(2);
  }
  for (const auto& [device, seconds] :
       {std::pair("CPU slot (1 thread)", 4.0), std::pair("NVIDIA H200", 400.0)}) {
    v1::DeviceStarts* of_device = runs->add_starts();
    of_device->set_device_name(device);
    of_device->set_start_seconds(1);
    of_device->set_load_seconds(seconds);
    of_device->set_runs(3);
  }
  coordinator_.earlier_runs = earlier;
  const Ended ended = Trainctl({"submit", File("tiny.json", kJob)});
  EXPECT_NE(ended.out.find("; 5 s until its first step, as in 3 earlier runs"), std::string::npos)
      << ended.out;
  EXPECT_NE(ended.out.find("(0.5 s a step), predicted from 2 earlier runs on CPU slot (1 thread)"),
            std::string::npos)
      << ended.out;
  const auto prediction =
      job::PredictionFromJson(coordinator_.submissions.at(0).jobs(0).prediction_json());
  EXPECT_EQ(prediction->time->training_seconds, 5.5);
  EXPECT_EQ(prediction->time->load_seconds, 4);
  EXPECT_EQ(prediction->time->start_runs, 3);
}

TEST_F(SubmitTest, ADryRunOfAJobThatGoesOnCountsWhatRemains) {
  job::Inspection inspection = SmallModel(100);
  inspection.resume_step = 9;
  coordinator_.inspection->set_inspection_json(job::ToJson(inspection));
  v1::EarlierRunsResponse earlier;
  v1::DeviceRuns* runs = earlier.add_jobs()->add_devices();
  runs->set_device_name("CPU slot (1 thread)");
  runs->set_step_seconds(0.5);
  runs->set_runs(1);
  coordinator_.earlier_runs = earlier;
  const auto dry_run = [&](const std::string& max_steps, const std::string& format) {
    return Trainctl({"submit", File("tiny.json", kJob), "--dry-run", "-o", format,
                     "--checkpoint.resume_from", "/out", "--train.max_steps", max_steps});
  };
  const Json job = Json::parse(dry_run("11", "json").out)["jobs"][0];
  EXPECT_EQ(job["steps"], 11);
  EXPECT_EQ(job["first_step"], 9);
  EXPECT_EQ(job["time"]["training_seconds"], 1.0) << "two steps";
  const Ended people = dry_run("11", "table");
  EXPECT_NE(people.out.find("; 9 are done, 2 remain"), std::string::npos) << people.out;
  const Ended beyond = dry_run("8", "table");
  EXPECT_EQ(beyond.code, kExitWouldNotRun);
  EXPECT_NE(beyond.out.find("it is at step 9: raise train.max_steps"), std::string::npos)
      << beyond.out;
}

TEST_F(SubmitTest, AJobThatHasMadeAllItsStepsIsNotResumed) {
  job::JobSpec spec = ReadJobText(kJob, {.path = "/tiny.json"})->jobs.front();
  spec.output = {.dir = "/out", .save = job::Save::kFinal};
  spec.checkpoint.every_steps = 4;
  v1::JobDetail& detail = coordinator_.details["j1"];
  detail.set_job_json(job::ToJson(spec));
  for (const auto& [kind, path] :
       {std::pair("checkpoint", "/out/checkpoints/step-8"), std::pair("final", "/out")}) {
    v1::Artifact* artifact = detail.add_artifacts();
    artifact->set_kind(kind);
    artifact->set_path(path);
  }
  coordinator_.jobs = {FinishedJob("j1", "tiny", "SUCCEEDED")};
  coordinator_.jobs[0].set_step(11);
  coordinator_.jobs[0].set_steps(11);
  const Ended refused = Trainctl({"resume", "j1"});
  EXPECT_EQ(refused.code, kExitUsage);
  EXPECT_NE(refused.err.find("tiny (j1) has made all its 11 steps, and its model is in /out"),
            std::string::npos)
      << refused.err;
  EXPECT_TRUE(coordinator_.submissions.empty());
  EXPECT_EQ(coordinator_.inspections_asked, 0) << "it is known before";
  const Ended dry_run = Trainctl({"resume", "j1", "--dry-run"});
  EXPECT_EQ(dry_run.code, kExitWouldNotRun);
  EXPECT_NE(dry_run.out.find("give more steps"), std::string::npos) << dry_run.out;
  const std::vector<std::string> more = {"resume", "j1", "--train.epochs", "2"};
  const Ended over = Trainctl(more);
  EXPECT_NE(over.err.find("another folder for the new model"), std::string::npos) << over.err;
  std::vector<std::string> elsewhere = more;
  elsewhere.insert(elsewhere.end(), {"--output.dir", "/more"});
  EXPECT_EQ(Trainctl(elsewhere).code, 0);
  EXPECT_EQ(SubmittedJob().checkpoint.resume_job, "j1");
}

TEST_F(SubmitTest, AJobThatHasMadeAllItsStepsIsNotResumed) {
  job::JobSpec spec = ReadJobText(kJob, {.path = "/tiny.json"})->jobs.front();
  spec.output = {.dir = "/out", .save = job::Save::kFinal};
  spec.checkpoint.every_steps = 4;
  v1::JobDetail& detail = coordinator_.details["j1"];
  detail.set_job_json(job::ToJson(spec));
  for (const auto& [kind, path] :
       {std::pair("checkpoint", "/out/checkpoints/step-8"), std::pair("final", "/out")}) {
    v1::Artifact* artifact = detail.add_artifacts();
    artifact->set_kind(kind);
    artifact->set_path(path);
  }
  coordinator_.jobs = {FinishedJob("j1", "tiny", "SUCCEEDED")};
  coordinator_.jobs[0].set_step(11);
  coordinator_.jobs[0].set_steps(11);
  const Ended refused = Trainctl({"resume", "j1"});
  EXPECT_EQ(refused.code, kExitUsage);
  EXPECT_NE(refused.err.find("tiny (j1) has made all its 11 steps, and its model is in /out"),
            std::string::npos)
      << refused.err;
  EXPECT_TRUE(coordinator_.submissions.empty());
  EXPECT_EQ(coordinator_.inspections_asked, 0) << "it is known before";
  const Ended dry_run = Trainctl({"resume", "j1", "--dry-run"});
  EXPECT_EQ(dry_run.code, kExitWouldNotRun);
  EXPECT_NE(dry_run.out.find("give more steps"), std::string::npos) << dry_run.out;
  const std::vector<std::string> more = {"resume", "j1", "--train.epochs", "2"};
  const Ended over = Trainctl(more);
  EXPECT_NE(over.err.find("another folder for the new model"), std::string::npos) << over.err;
  std::vector<std::string> elsewhere = more;
  elsewhere.insert(elsewhere.end(), {"--output.dir", "/more"});
  EXPECT_EQ(Trainctl(elsewhere).code, 0);
  EXPECT_EQ(SubmittedJob().checkpoint.resume_job, "j1");
}

TEST_F(SubmitTest, ADryRunOfALabSaysWhetherItFitsATime) {
  const std::string path = File("my-lab.json", kLab);
  EXPECT_NE(Trainctl({"submit", path, "--dry-run"}).out.find("All of it: "), std::string::npos);
  const Ended ended = Trainctl({"submit", path, "--dry-run", "--within", "3h"});
  EXPECT_NE(ended.out.find("predicted for 2 experiments on 2 devices; fits 3h."), std::string::npos)
      << ended.out;
  const Json json =
      Json::parse(Trainctl({"submit", path, "--dry-run", "--within", "1s", "-o", "json"}).out);
  EXPECT_EQ(json["time"]["fits"], false);
  EXPECT_EQ(json["time"]["experiments"], 2);
}

TEST_F(SubmitTest, WaitFollowsTheGroupAndEndsWithItsExitCode) {
  coordinator_.watchings = {
      {{FinishedJob("j1", "micro-2", "SUCCEEDED"), FinishedJob("j2", "micro-4", "OOM_GPU")}}};
  const Ended ended = Trainctl({"submit", File("my-lab.json", kLab), "--wait"});
  EXPECT_EQ(ended.code, kExitOutOfMemory);
  EXPECT_EQ(coordinator_.watch_requests.front().jobs(0), "g1");
  EXPECT_EQ(farewell_, "Detached: the jobs go on. Follow again with: trainctl wait g1");
}

}  // namespace
}  // namespace trainctl::client
