#include <algorithm>
#include <sstream>

#include "client/exit_code.h"
#include "client/show/format.h"
#include "client/show/output.h"
#include "common/estimate/prediction.h"
#include "common/job/job_json.h"
#include "tests/client/golden.h"
#include "tests/client/submit_fixture.h"

namespace trainctl::client {
namespace {

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
  const Ended refused = Trainctl({"submit", file, "--devices", "4"});
  EXPECT_NE(refused.code, 0);
  EXPECT_EQ(refused.err.find("the new one"), std::string::npos) << "there is none";
  for (v1::JobView& job : coordinator_.jobs) job.set_state("FINISHED");
  EXPECT_EQ(Trainctl({"submit", file}).err.find("the name"), std::string::npos);
}

TEST_F(SubmitTest, AnEmptyNameIsRefused) {
  const Ended ended = Trainctl({"submit", File("tiny.json", kJob), "--name", ""});
  EXPECT_EQ(ended.code, kExitUsage);
  EXPECT_NE(ended.err.find("--name is empty: expected NAME"), std::string::npos) << ended.err;
  const Ended glued = Trainctl({"submit", File("tiny.json", kJob), "--name=", "-o", "json"});
  EXPECT_NE(glued.err.find("--name is empty: expected NAME"), std::string::npos) << glued.err;
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

TEST_F(SubmitTest, ExperimentsWithOtherPromptsOrPicturesAreInspectedOneByOne) {
  const auto inspected = [&](const std::string& eval, const std::string& second) {
    coordinator_.inspections_asked = 0;
    Trainctl({"submit", "--dry-run", File("my-lab.json", R"({"base": {"version": 1,
      "model": {"path": "/models/tiny"}, "data": {"path": "/data/rows.json"},
      "train": {"global_batch_size": 8, "micro_batch_size": 2, "max_steps": 0},
      "eval": )" + eval + R"(}, "experiments": [{"name": "one", "set": {}},
      {"name": "two", "set": )" + second + "}]}")});
    return coordinator_.inspections_asked;
  };
  const std::string picture = R"({"prompts": ["a"], "images": ["/a.png"]})";
  EXPECT_EQ(inspected(picture, R"({"eval.images": ["/bad.png"]})"), 2);
  EXPECT_EQ(inspected(picture, R"({"eval.prompts": ["b"]})"), 2);
  EXPECT_EQ(inspected(picture, R"({"eval.max_new_tokens": 9})"), 1) << "nobody reads that";
}

TEST_F(SubmitTest, ExperimentsWithOtherAdaptersAreInspectedOneByOne) {
  const auto inspected = [&](const std::string& second) {
    coordinator_.inspections_asked = 0;
    Trainctl({"submit", "--dry-run",
              File("my-lab.json", R"({"base": {"version": 1,
      "model": {"path": "/models/adapter"}, "data": {"path": "/data/rows.json"},
      "train": {"micro_batch_size": 2}, "lora": {"r": 8, "alpha": 16}},
      "experiments": [{"name": "one", "set": {}}, {"name": "two", "set": )" +
                                      second + "}]}")});
    return coordinator_.inspections_asked;
  };
  EXPECT_EQ(inspected(R"({"lora.r": 4})"), 2);
  EXPECT_EQ(inspected(R"({"lora.alpha": 4})"), 2);
  EXPECT_EQ(inspected(R"({"lora": null})"), 2);
  EXPECT_EQ(inspected(R"({"lora.dropout": 0.5})"), 1) << "no adapter is compared with that";
}

TEST_F(SubmitTest, AGroupOfOneIsOfOneJob) {
  const std::string lab = R"({"base": {"version": 1, "model": {"path": "/models/tiny"},
    "data": {"path": "/data/rows.json"}, "train": {"micro_batch_size": 2}},
    "experiments": [{"name": "one", "set": {}}]})";
  const Ended ended = Trainctl({"submit", File("lab.json", lab)});
  EXPECT_NE(ended.out.find(" of 1 job.\n"), std::string::npos) << ended.out << ended.err;
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

TEST_F(SubmitTest, AJobFileMayComeFromStandardInput) {
  std::istringstream job(kJob), bad("{\"version\": 1,\n \"presicion\": 3}");
  surroundings_.in = &job;
  EXPECT_EQ(Trainctl({"submit", "-", "--name", "piped"}).code, 0);
  EXPECT_EQ(SubmittedJob().name, "piped");
  EXPECT_EQ(SubmittedJob().data.path, "/data/rows.json");
  surroundings_.in = &bad;
  const Ended refused = Trainctl({"submit", "-"});
  EXPECT_EQ(refused.code, kExitUsage);
  EXPECT_NE(refused.err.find("stdin:2: presicion"), std::string::npos) << refused.err;
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
      Trainctl({"submit", File("tiny.json", kJob), "--resources.gpu_memory_limit", "4600KiB"});
  EXPECT_EQ(ended.code, kExitUsage);
  EXPECT_NE(ended.err.find("its resources.gpu_memory_limit"), std::string::npos) << ended.err;
  EXPECT_NE(ended.err.find("--train.micro_batch_size 1 ("), std::string::npos) << ended.err;
}

TEST_F(SubmitTest, ForceSubmitsWhatIsPredictedNotToFitAndSaysSo) {
  const Ended ended = Trainctl(
      {"submit", File("tiny.json", kJob), "--resources.gpu_memory_limit", "4600KiB", "--force"});
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

TEST_F(SubmitTest, OptionsThatNeedAnotherAreRefusedWithoutIt) {
  const std::string path = File("tiny.json", kJob);
  const Ended ended = Trainctl({"submit", path, "--timeout", "3h"});
  EXPECT_EQ(ended.code, kExitUsage);
  EXPECT_NE(ended.err.find("--timeout has a meaning only with --wait"), std::string::npos)
      << ended.err;
  EXPECT_EQ(Trainctl({"submit", path, "--within", "3h"}).code, kExitUsage) << "that is no lease";
  EXPECT_EQ(Trainctl({"submit", path, "--full"}).code, kExitUsage);
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

TEST_F(SubmitTest, DryRunShowsPlaceBatchStepsAndMemoryOnOnePage) {
  const Ended ended = Trainctl({"submit", File("tiny.json", kJob), "--dry-run"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_TRUE(coordinator_.submissions.empty());
  ExpectGolden("dry-run.txt", Portable(ended.out));
}

TEST_F(SubmitTest, AFullDryRunShowsEverySetting) {
  const std::string out = Trainctl({"submit", File("tiny.json", kJob), "--dry-run", "--full"}).out;
  const Json job = Json::parse(out.substr(out.find("Resolved job\n") + 13));
  EXPECT_EQ(job["optimizer"]["name"], "adamw");
  EXPECT_EQ(out.find("--full"), std::string::npos);
}

TEST_F(SubmitTest, DryRunOfALabIsALineAJob) {
  const std::string path = File("my-lab.json", kLab);
  const std::string out = Trainctl({"submit", path, "--dry-run"}).out;
  EXPECT_NE(out.find("NAME     STEPS  "), std::string::npos) << out;
  EXPECT_NE(out.find("micro-4     12  "), std::string::npos) << out;
  EXPECT_EQ(out.find("before_forward"), std::string::npos) << out;
  EXPECT_LE(std::ranges::count(out, '\n'), 24);
  EXPECT_NE(Trainctl({"submit", path, "--dry-run", "--full"}).out.find("before_forward"),
            std::string::npos);
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

TEST_F(SubmitTest, OnATerminalOf80ColumnsLongFactsGoOnBelowThemselves) {
  SetTerminal(80);
  const std::string path = File("tiny.json", kJob);
  const std::string submitted = Trainctl({"submit", path}).out;
  EXPECT_NE(submitted.find("\n          "), std::string::npos) << submitted;
  const std::string dry = Trainctl({"submit", path, "--dry-run"}).out;
  EXPECT_NE(dry.find("(too narrow for before_forward)"), std::string::npos) << dry;
  for (const std::string& line : Split(submitted + dry, '\n'))
    EXPECT_LE(DisplayWidth(line), 80) << line;
}

TEST_F(SubmitTest, DryRunWorksWithoutACoordinator) {
  surroundings_.environment_server = "";
  const Ended ended = Trainctl({"submit", File("tiny.json", kJob), "--dry-run"});
  EXPECT_EQ(ended.code, 0);
  EXPECT_NE(ended.err.find("no coordinator is known"), std::string::npos);
  EXPECT_NE(ended.out.find("global 8 = micro 2 × 1 device × accumulation 4"), std::string::npos);
}

TEST_F(SubmitTest, ADryRunOfWhoMayNotSubmitSaysThatItWouldBeRefused) {
  coordinator_.inspection =
      base::Error{base::Code::kDenied, "ben is a viewer: Inspect needs the role user"};
  const std::string file = File("tiny.json", kJob);
  const Ended dry = Trainctl({"submit", file, "--dry-run", "--force"});
  EXPECT_EQ(dry.code, kExitWouldNotRun);
  EXPECT_NE(dry.out.find("would be refused here: "), std::string::npos) << dry.out;
  EXPECT_NE(dry.out.find("ben is a viewer: Inspect needs the role user"), std::string::npos);
  EXPECT_EQ(Trainctl({"submit", file}).code, kExitDenied);
  EXPECT_TRUE(coordinator_.submissions.empty());
}

TEST_F(SubmitTest, WithoutACoordinatorTheRankBesideTrainctlInspects) {
  surroundings_.environment_server = "";
  programs_["/bin/trainworker"] = {.out = job::ToJson(SmallModel(100)) + "\n"};
  const Ended ended = Trainctl({"submit", File("tiny.json", kJob), "--dry-run"});
  EXPECT_NE(ended.out.find("11 optimizer steps"), std::string::npos) << ended.out;
  EXPECT_EQ(job::FromJson(program_input_)->name, "tiny");
}

TEST_F(SubmitTest, SubmitWithoutACoordinatorSaysHowToNameOne) {
  surroundings_.environment_server = "";
  const Ended ended = Trainctl({"submit", File("tiny.json", kJob)});
  EXPECT_EQ(ended.code, kExitUnreachable);
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

TEST_F(SubmitTest, ADryRunOfALabSaysWhetherItFitsATime) {
  const std::string path = File("my-lab.json", kLab);
  EXPECT_NE(Trainctl({"submit", path, "--dry-run"}).out.find("All of it: "), std::string::npos);
  const Ended ended = Trainctl({"submit", path, "--dry-run", "--within", "3h"});
  EXPECT_NE(ended.out.find("predicted for 2 experiments on 2 devices; fits 3 h."),
            std::string::npos)
      << ended.out;
  const Json json =
      Json::parse(Trainctl({"submit", path, "--dry-run", "--within", "1s", "-o", "json"}).out);
  EXPECT_EQ(json["time"]["fits"], false);
  EXPECT_EQ(json["time"]["experiments"], 2);
}

TEST_F(SubmitTest, ANoteOnSomeExperimentsIsSaidOnceForEach) {
  const std::string lab =
      R"({"base": {"version": 1, "model": {"path": "/m/tiny"}, "data": {"path": "/d/rows.json"},
 "output": {"dir": "/out", "save": "final"}, "train": {"micro_batch_size": 2}},
 "experiments": [{"name": "one", "set": {"sharding": "grad_op"}}, {"name": "two", "set": {}}]})";
  const Ended ended = Trainctl({"submit", File("my-lab.json", lab), "--dry-run"});
  EXPECT_EQ(ended.err, "note: one: sharding and fsdp_unit have no effect without strategy fsdp\n");
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
