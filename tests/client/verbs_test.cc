#include <sstream>

#include "client/exit_code.h"
#include "client/show/output.h"
#include "common/job/job_json.h"
#include "common/rank/rank_json.h"
#include "tests/client/client_test.h"
#include "tests/client/golden.h"

namespace trainctl::client {
namespace {

using VerbsTest = ClientTest;

std::vector<v1::JobView> ThreeJobs() {
  v1::JobView queued;
  queued.set_id("j3");
  queued.set_name("next");
  queued.set_state("QUEUED");
  queued.set_reason("waits for 2 devices, 0 are free");
  queued.set_devices(2);
  v1::JobView oom = FinishedJob("j1", "big", "OOM_GPU");
  oom.set_message("rank 0 asked for 2.00 GiB in forward");
  oom.set_as_expected(true);
  return {queued, RunningJob("j2", "tiny"), oom};
}

v1::MetricPoint Point(const std::string& name, int64_t step, double value) {
  v1::MetricPoint point;
  point.set_name(name);
  point.set_step(step);
  point.set_value(value);
  point.set_time(1'500'000);
  return point;
}

// ---- status ----

TEST_F(VerbsTest, StatusShowsJobsWithReasonsAndHosts) {
  coordinator_.jobs = ThreeJobs();
  coordinator_.workers = {CpuWorker("alpha/0", "BUSY"), CpuWorker("alpha/1", "BUSY"),
                          CpuWorker("beta/0", "LOST")};
  ExpectGolden("status.txt", Trainctl({"status"}).out);
}

TEST_F(VerbsTest, StatusInAnEmptySiteSaysSo) {
  EXPECT_EQ(Trainctl({"status"}).out,
            "no jobs\n\nno workers: jobs stay queued until a trainworker registers\n");
}

TEST_F(VerbsTest, StatusAsJsonIsTheContract) {
  coordinator_.jobs = ThreeJobs();
  const Json json = Json::parse(Trainctl({"status", "-o", "json"}).out);
  EXPECT_EQ(json.begin().key(), "schema");
  const Json& running = json["jobs"][1];
  EXPECT_EQ(running["id"], "j2");
  EXPECT_EQ(running["name"], "tiny");
  EXPECT_EQ(running["state"], "RUNNING");
  EXPECT_EQ(running["outcome"], nullptr);
  EXPECT_EQ(running["step"], 31);
  EXPECT_EQ(running["steps"], 62);
  EXPECT_EQ(running["started_at"], 950.0);
  EXPECT_EQ(json["jobs"][0]["reason"], "waits for 2 devices, 0 are free");
  EXPECT_EQ(json["jobs"][2]["as_expected"], true);
}

TEST_F(VerbsTest, StatusAsNamesAndCsvAndLines) {
  coordinator_.jobs = ThreeJobs();
  EXPECT_EQ(Trainctl({"status", "-o", "name"}).out, "j3\nj2\nj1\n");
  EXPECT_EQ(Trainctl({"status", "-o", "csv"}).out.find("id,name,group,group_name,state,outcome,"),
            0u);
  std::istringstream lines(Trainctl({"status", "-o", "jsonl"}).out);
  std::string line;
  int count = 0;
  for (; std::getline(lines, line); ++count) EXPECT_TRUE(Json::parse(line).contains("state"));
  EXPECT_EQ(count, 3);
}

TEST_F(VerbsTest, StatusCanBeOfOneJobOrTheUnfinished) {
  coordinator_.jobs = ThreeJobs();
  EXPECT_EQ(Trainctl({"status", "tiny", "-o", "name"}).out, "j2\n");
  EXPECT_EQ(Trainctl({"status", "--unfinished", "-o", "name"}).out, "j3\nj2\n");
}

TEST_F(VerbsTest, StatusCanBeOfAStateAUserATagOrAGroup) {
  coordinator_.jobs = ThreeJobs();
  coordinator_.jobs[0].set_owner("ann");
  coordinator_.jobs[1].set_owner("ben");
  coordinator_.jobs[1].add_tags("lab=2");
  coordinator_.jobs[2].add_tags("lab=3");
  coordinator_.jobs[2].set_group("g1");
  coordinator_.jobs[2].set_group_name("my-lab");
  const auto names = [this](std::vector<std::string> words) {
    words.insert(words.begin(), "status");
    words.insert(words.end(), {"-o", "name"});
    return Trainctl(words).out;
  };
  EXPECT_EQ(names({"--state", "running,oom-gpu"}), "j2\nj1\n");
  EXPECT_EQ(names({"--user", "ann,ben"}), "j3\nj2\n");
  EXPECT_EQ(names({"--tag", "lab=2"}), "j2\n");
  EXPECT_EQ(names({"--tag", "lab"}), "j2\nj1\n");
  EXPECT_EQ(names({"--group", "my-lab"}), "j1\n");
  EXPECT_EQ(names({"j1", "j2", "--group", "my-lab"}), "j1\n");
  EXPECT_EQ(names({"--limit", "1"}), "j3\n");
  const Json json = Json::parse(Trainctl({"status", "tiny", "-o", "json"}).out);
  EXPECT_EQ(json["jobs"][0]["owner"], "ben");
  EXPECT_EQ(json["jobs"][0]["tags"], Json({{"lab", "2"}}));
  EXPECT_EQ(Trainctl({"status", "--user", "zoe"}).out.find("no such jobs\n"), 0u);
  const Ended unknown = Trainctl({"status", "--state", "runing"});
  EXPECT_EQ(unknown.code, kExitUsage);
  EXPECT_NE(unknown.err.find("--state runing: did you mean 'RUNNING'?"), std::string::npos)
      << unknown.err;
}

TEST_F(VerbsTest, StatusOfNoGroupOrOfNoJobIsRefused) {
  coordinator_.jobs = ThreeJobs();
  coordinator_.jobs[2].set_group("g1");
  coordinator_.jobs[2].set_group_name("my-lab");
  EXPECT_EQ(Trainctl({"status", "j2", "--group", "my-lab"}).code, kExitNotFound);
  for (const char* other : {"my-labb", "tiny"}) {
    const Ended ended = Trainctl({"status", "--group", other});
    EXPECT_EQ(ended.code, kExitNotFound) << other;
    EXPECT_NE(ended.err.find(std::string("no group '") + other + "'"), std::string::npos);
  }
  const Ended none = Trainctl({"status", "-n", "0"});
  EXPECT_EQ(none.code, kExitUsage);
  EXPECT_EQ(none.err,
            "trainctl: --limit 0: expected a whole number, 1 or more; see: trainctl status "
            "--help\n");
}

TEST_F(VerbsTest, StatusWatchShowsAgainUntilAllEnded) {
  coordinator_.jobs = {RunningJob("j1", "tiny")};
  on_sleep_ = [this] { coordinator_.jobs = {FinishedJob("j1", "tiny", "SUCCEEDED")}; };
  const Ended ended = Trainctl({"status", "-w"});
  EXPECT_EQ(ended.code, 0);
  EXPECT_LT(ended.out.find("RUNNING"), ended.out.find("SUCCEEDED"));
}

// ---- describe ----

TEST_F(VerbsTest, AJobThatIsNotThereIsAnsweredWithTheNearestName) {
  coordinator_.jobs = {FinishedJob("j1", "first", "SUCCEEDED"), RunningJob("j2", "other")};
  for (const char* verb : {"describe", "status"}) {
    const Ended ended = Trainctl({verb, "frist"});
    EXPECT_EQ(ended.code, kExitNotFound) << verb;
    EXPECT_NE(ended.err.find("no job or group 'frist': did you mean 'first'? (trainctl status "
                             "lists all)"),
              std::string::npos)
        << ended.err;
  }
  EXPECT_NE(Trainctl({"describe", "j9"}).err.find("no job or group 'j9'; trainctl status"),
            std::string::npos);
}

TEST_F(VerbsTest, DescribeSaysOfAPredictedStartThatItIsOne) {
  coordinator_.jobs = ThreeJobs();
  EXPECT_EQ(Trainctl({"describe", "next"}).out.find("starts"), std::string::npos);
  coordinator_.jobs[0].set_predicted_start(1'500'000'000);
  const std::string text = Trainctl({"describe", "next"}).out;
  EXPECT_NE(text.find("starts     about 1970-01-01 00:25 UTC, a prediction"), std::string::npos)
      << text;
  const Json json = Json::parse(Trainctl({"describe", "next", "-o", "json"}).out);
  EXPECT_EQ(json["jobs"][0]["predicted_start"], 1500);
}

TEST_F(VerbsTest, OfACancelledJobTheStepsThatItMadeAreShown) {
  coordinator_.jobs = {FinishedJob("j1", "big", "CANCELLED")};
  coordinator_.jobs[0].set_step(46);
  coordinator_.jobs[0].set_steps(690);
  coordinator_.details["j1"];
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"describe", "big"}, {"describe", "big", "-o", "md"}}) {
    const std::string text = Trainctl(words).out;
    EXPECT_NE(text.find("46 of 690"), std::string::npos) << text;
  }
  const Json job = Json::parse(Trainctl({"describe", "big", "-o", "json"}).out)["jobs"][0];
  EXPECT_EQ(job["step"], 46);
  EXPECT_EQ(job["steps"], 690);
}

TEST_F(VerbsTest, DescribeShowsTheAttemptThatRanOutOfMemory) {
  coordinator_.jobs = {ThreeJobs()[2]};
  v1::JobDetail& detail = coordinator_.details["j1"];
  v1::AttemptView& attempt = *detail.add_attempts();
  attempt.set_attempt(1);
  attempt.set_outcome("OOM_GPU");
  attempt.set_rank(0);
  job::OomDetail oom{0, {job::Work::kForward}, int64_t{2} << 30, int64_t{16} << 30, {}};
  oom.memory.params = int64_t{4} << 30;
  oom.memory.optimizer_cpu = int64_t{1} << 30;
  attempt.set_oom_json(job::ToJson(oom));
  attempt.set_last_log_lines("first\nsecond\n");
  v1::RankView& rank = *attempt.add_ranks();
  rank.set_worker("alpha/0");
  rank.set_device_name("NVIDIA H200");
  rank.set_libtorch("2.11.0");
  v1::MetricSummary& summary = *detail.add_summaries();
  summary.set_name("loss");
  summary.set_latest(2.5);
  summary.set_min(2.25);
  summary.set_max(3.5);
  summary.set_total(27.5);
  summary.set_count(10);
  v1::JobEvent& event = *detail.add_events();
  event.set_time(1'000'000);
  event.set_text("submitted");
  job::JobSpec job{
      .name = "big", .model = {.path = "/models/big"}, .data = {.path = "/data/rows.json"}};
  job.train.micro_batch_size = 4;
  job.resources.priority = 50;
  detail.set_job_json(job::ToJson(job));
  ExpectGolden("describe.txt", Trainctl({"describe", "big"}).out);
  const std::string markdown = Trainctl({"describe", "big", "-o", "md"}).out;
  EXPECT_EQ(markdown.find("# big (j1)\n"), 0u) << markdown;
  for (const char* part : {"| data.path | /data/rows.json |", "## Attempt 1: OOM_GPU",
                           "| loss |  |  | 2.5 | 2.25 |", "submitted |"})
    EXPECT_NE(markdown.find(part), std::string::npos) << part << "\n" << markdown;
  const Json json = Json::parse(Trainctl({"describe", "big", "-o", "json"}).out);
  EXPECT_EQ(json["jobs"][0]["attempts"][0]["oom"]["requested_bytes"], int64_t{2} << 30);
  EXPECT_EQ(json["jobs"][0]["attempts"][0]["oom"]["memory"]["params"], int64_t{4} << 30);
  EXPECT_EQ(json["jobs"][0]["summaries"][0]["latest"], 2.5);
  EXPECT_EQ(json["jobs"][0]["job"]["strategy"], "single") << "as the table says, not auto";
}

TEST_F(VerbsTest, DescribeTellsWhatTrialsMadeOfAnAutomaticMicroBatch) {
  coordinator_.jobs = {ThreeJobs()[2]};
  v1::JobDetail& detail = coordinator_.details["j1"];
  job::JobSpec job{
      .name = "big", .model = {.path = "/models/big"}, .data = {.path = "/data/rows.json"}};
  job.train.micro_batch_size = 16;
  detail.set_job_json(job::ToJson(job));
  detail.set_auto_micro_batch(16);
  const auto described = [&] { return Trainctl({"describe", "big"}).out; };
  EXPECT_NE(described().find("auto: 16 by the estimate, 16 never proven"), std::string::npos)
      << described();
  const auto add_attempt = [&](int64_t number, int64_t micro_batch, const std::string& trial) {
    v1::AttemptView& attempt = *detail.add_attempts();
    attempt.set_attempt(number);
    attempt.set_outcome(trial == "failed" ? "OOM_GPU" : "SUCCEEDED");
    attempt.set_micro_batch_size(micro_batch);
    attempt.set_trial(trial);
  };
  add_attempt(1, 16, "failed");
  add_attempt(2, 8, "passed");
  job.train.micro_batch_size = 8;
  detail.set_job_json(job::ToJson(job));
  EXPECT_NE(described().find("auto: 16 by the estimate, 8 proven by trial (attempt 2)"),
            std::string::npos)
      << described();
  EXPECT_NE(described().find("Attempt 1: micro batch 16 does not fit, found by trial"),
            std::string::npos)
      << described();
  const Json json = Json::parse(Trainctl({"describe", "big", "-o", "json"}).out)["jobs"][0];
  EXPECT_EQ(json["auto_micro_batch"], (Json{{"estimated", 16}, {"size", 8}, {"proven_by", 2}}));
  EXPECT_EQ(json["attempts"][0]["trial"], "failed");
  EXPECT_EQ(json["attempts"][1]["micro_batch_size"], 8);
}

// ---- cancel ----

TEST_F(VerbsTest, CancelNamesWhatItAskedToEnd) {
  coordinator_.jobs = {RunningJob("j1", "a"), RunningJob("j2", "b")};
  EXPECT_EQ(Trainctl({"cancel", "a", "j2"}).out, "Asked a (j1) to end.\nAsked b (j2) to end.\n");
  EXPECT_EQ(coordinator_.cancelled, (std::vector<std::string>{"j1", "j2"}));
}

TEST_F(VerbsTest, CancelOfAnEndedJobSaysThatItHasEnded) {
  coordinator_.jobs = {FinishedJob("j1", "a", "SUCCEEDED"), RunningJob("j2", "b")};
  EXPECT_EQ(Trainctl({"cancel", "a", "b"}).out,
            "a (j1) has ended already (SUCCEEDED).\nAsked b (j2) to end.\n");
  const Json json = Json::parse(Trainctl({"cancel", "a", "b", "-o", "json"}).out);
  EXPECT_EQ(json["jobs"][0]["had_ended"], "SUCCEEDED");
  EXPECT_EQ(json["jobs"][1]["had_ended"], nullptr);
}

TEST_F(VerbsTest, CancelOfANameOfSeveralThatHaveNotEndedIsRefused) {
  coordinator_.jobs = {RunningJob("j22", "twin"), RunningJob("j9", "twin"),
                       FinishedJob("j3", "twin", "FAILED")};
  const Ended ended = Trainctl({"cancel", "twin"});
  EXPECT_EQ(ended.code, kExitUsage);
  EXPECT_NE(ended.err.find("2 jobs have the name 'twin': j22, j9"), std::string::npos) << ended.err;
  EXPECT_TRUE(coordinator_.cancelled.empty());
}

TEST_F(VerbsTest, CancelOfANameTakesTheOnlyOneThatHasNotEnded) {
  coordinator_.jobs = {FinishedJob("j22", "twin", "FAILED"), RunningJob("j9", "twin")};
  const Ended ended = Trainctl({"cancel", "twin"});
  EXPECT_EQ(ended.code, kExitOk);
  EXPECT_EQ(coordinator_.cancelled, std::vector<std::string>{"j9"});
  EXPECT_NE(ended.err.find("note: 2 jobs have the name 'twin': j22, j9; this is j9"),
            std::string::npos)
      << ended.err;
}

// ---- names that several have ----

TEST_F(VerbsTest, WhereANameIsSeveralJobsTheNewestIsTakenWithANote) {
  coordinator_.jobs = {FinishedJob("j22", "twin", "SUCCEEDED"), FinishedJob("j9", "twin", "FAILED"),
                       FinishedJob("j1", "a", "FAILED")};
  coordinator_.points = {Point("loss", 0, 2.5)};
  coordinator_.log = {Chunk(0, "text\n")};
  coordinator_.comparison.add_jobs()->set_id("j22");
  const std::string note = "note: 2 jobs have the name 'twin': j22, j9; this is j22\n";
  for (const char* verb : {"status", "describe", "logs", "metrics", "wait", "compare"}) {
    const Ended ended = Trainctl({verb, "twin"});
    EXPECT_EQ(ended.code, kExitOk) << verb << ended.err;
    EXPECT_EQ(ended.err, note) << verb;
    EXPECT_EQ(Trainctl({verb, "j22"}).err, "") << verb;
  }
  EXPECT_EQ(Trainctl({"status", "a"}).err, "");
  EXPECT_EQ(Trainctl({"status", "twin", "-o", "name"}).out, "j22\n");
}

TEST_F(VerbsTest, WhereANameIsSeveralGroupsTheNewestIsTakenWithANote) {
  for (const char* group : {"g2", "g10", "g2"}) {
    v1::JobView& job = coordinator_.jobs.emplace_back(
        FinishedJob("j" + std::to_string(coordinator_.jobs.size()), "full", "SUCCEEDED"));
    job.set_group(group);
    job.set_group_name("lab");
  }
  const Ended ended = Trainctl({"status", "lab", "-o", "name"});
  EXPECT_EQ(ended.err, "note: 2 groups have the name 'lab': g10, g2; this is g10\n");
  EXPECT_EQ(ended.out, "j1\n");
}

TEST_F(VerbsTest, CompareSaysThatAJobIsNamedTwice) {
  coordinator_.jobs = {FinishedJob("j10", "full", "SUCCEEDED")};
  v1::ComparedJob& job = *coordinator_.comparison.add_jobs();
  job.set_id("j10");
  job.set_name("full");
  EXPECT_EQ(Trainctl({"compare", "full", "j10"}).err,
            "note: full (j10) is named more than once, and stands once\n");
  EXPECT_EQ(Trainctl({"compare", "full"}).err, "");
}

// ---- fence ----

TEST_F(VerbsTest, FenceAsksWhetherItIsCertain) {
  coordinator_.workers = {CpuWorker("a/0", "LOST")};
  const Ended unsure = Trainctl({"fence", "a/0"});
  EXPECT_EQ(unsure.code, kExitUsage);
  EXPECT_NE(unsure.err.find("--yes"), std::string::npos);
  EXPECT_TRUE(coordinator_.fenced.empty());
  EXPECT_EQ(Trainctl({"fence", "a/0", "--yes"}).code, kExitOk);
  EXPECT_EQ(coordinator_.fenced, std::vector<std::string>{"a/0"});
  const Json json = Json::parse(Trainctl({"fence", "a/0", "--yes", "-o", "json"}).out);
  EXPECT_EQ(json["fenced"], Json::array({{{"worker", "a/0"}}}));
}

TEST_F(VerbsTest, FenceRefusesAWorkerThatIsThere) {
  coordinator_.workers = {CpuWorker("a/0", "BUSY")};
  EXPECT_EQ(Trainctl({"fence", "a/0", "--yes"}).code, kExitFailure);
  EXPECT_EQ(Trainctl({"fence", "b/0", "--yes"}).code, kExitNotFound);
}

// ---- metrics ----

TEST_F(VerbsTest, MetricsAreALineAPoint) {
  coordinator_.jobs = {RunningJob("j1", "tiny")};
  coordinator_.points = {Point("loss", 0, 2.5), Point("memory_params_bytes", 0, 1024)};
  coordinator_.points[1].set_rank(1);
  coordinator_.points[1].set_phase("before_forward");
  const std::string lines =
      R"({"name":"loss","step":0,"rank":null,"value":2.5,"time":1.5})"
      "\n"
      R"({"name":"memory_params_bytes","step":0,"rank":1,"value":1024.0,"time":1.5,"phase":"before_forward"})"
      "\n";
  EXPECT_EQ(Trainctl({"metrics", "j1"}).out, lines);
  EXPECT_EQ(Trainctl({"metrics", "j1", "-o", "jsonl"}).out, lines);
}

TEST_F(VerbsTest, MetricsInTheOtherFormats) {
  coordinator_.jobs = {RunningJob("j1", "tiny")};
  coordinator_.points = {Point("loss", 0, 2.5)};
  EXPECT_EQ(Json::parse(Trainctl({"metrics", "j1", "-o", "json"}).out)["points"][0]["value"], 2.5);
  EXPECT_EQ(Trainctl({"metrics", "j1", "-o", "csv"}).out,
            "name,step,rank,phase,value,time\nloss,0,,,2.5,1.5\n");
  EXPECT_EQ(Trainctl({"metrics", "j1", "-o", "table"}).out,
            "METRIC  STEP  RANK  PHASE  VALUE\nloss       0                 2.5\n");
}

TEST_F(VerbsTest, MetricsAreAskedForByNameAndRank) {
  coordinator_.jobs = {RunningJob("j1", "tiny")};
  Trainctl({"metrics", "j1", "--name", "loss,val_loss", "--rank", "0"});
  EXPECT_EQ(coordinator_.metrics_request.names_size(), 2);
  EXPECT_EQ(coordinator_.metrics_request.rank(), 0);
  Trainctl({"metrics", "j1", "--metric", "loss"});
  ASSERT_EQ(coordinator_.metrics_request.names_size(), 1) << "as plot and report have it";
}

TEST_F(VerbsTest, MetricsOfARankThatIsNotThereAreNotFound) {
  coordinator_.jobs = {RunningJob("j1", "tiny")};
  const Ended ended = Trainctl({"metrics", "j1", "--rank", "7"});
  EXPECT_EQ(ended.code, kExitNotFound);
  EXPECT_NE(ended.err.find("tiny (j1) has no rank 7: it has 2"), std::string::npos) << ended.err;
}

TEST_F(VerbsTest, MetricsWithoutPointsSaySo) {
  coordinator_.jobs = {RunningJob("j1", "tiny")};
  const Ended ended = Trainctl({"metrics", "j1", "--name", "loss,val_loss", "--rank", "1"});
  EXPECT_EQ(ended.code, kExitOk);
  EXPECT_EQ(ended.err, "note: tiny (j1) has no points of loss, val_loss of rank 1 yet\n");
}

TEST_F(VerbsTest, AMetricThatDoesNotExistIsRefused) {
  const Ended ended = Trainctl({"metrics", "j1", "--name", "los"});
  EXPECT_EQ(ended.code, kExitUsage);
  EXPECT_NE(ended.err.find("no metric 'los': did you mean 'loss'?"), std::string::npos);
}

// ---- workers and doctor ----

TEST_F(VerbsTest, WorkersShowsDevicesAndLoad) {
  v1::WorkerView gpu = CpuWorker("beta/0", "BUSY");
  gpu.set_job("j2");
  gpu.mutable_device()->set_kind("cuda");
  gpu.mutable_device()->set_name("NVIDIA H200");
  gpu.mutable_device_sample()->set_utilization_percent(98);
  gpu.mutable_device_sample()->set_memory_used_bytes(int64_t{8} << 30);
  gpu.mutable_device_sample()->set_power_watts(512);
  gpu.mutable_device_sample()->set_temperature_celsius(61);
  coordinator_.workers = {CpuWorker("alpha/0", "READY"), gpu};
  ExpectGolden("workers.txt", Trainctl({"workers"}).out);
  const Json json = Json::parse(Trainctl({"workers", "-o", "json"}).out);
  EXPECT_EQ(json["workers"][0]["gpu"], nullptr);
  EXPECT_EQ(json["workers"][1]["gpu"]["utilization_percent"], 98.0);
}

TEST_F(VerbsTest, WorkersSaysWhyADeviceIsDirty) {
  v1::WorkerView full = CpuWorker("beta/0", "DIRTY");
  full.set_reason("the disk of /work is full");
  coordinator_.workers = {CpuWorker("alpha/0", "READY"), full};
  EXPECT_NE(Trainctl({"workers"}).out.find("the disk of /work is full"), std::string::npos);
  const Json json = Json::parse(Trainctl({"workers", "-o", "json"}).out);
  EXPECT_EQ(json["workers"][0]["reason"], nullptr);
  EXPECT_EQ(json["workers"][1]["reason"], "the disk of /work is full");
}

TEST_F(VerbsTest, DoctorTellsThisHostAndTheCoordinator) {
  programs_["/bin/trainworker"] = {
      .out = R"({"checks": [{"name": "driver", "verdict": "ok", "text": "NVIDIA driver 580.1"},
    {"name": "GPU 0", "verdict": "warning", "text": "in use"}], "links": [{"from": 0, "to": 1, "link": "NVLink"}]})"};
  coordinator_.workers = {CpuWorker("alpha/0", "READY"), CpuWorker("alpha/1", "LOST")};
  const Ended ended = Trainctl({"doctor"});
  EXPECT_EQ(ended.code, 0);
  ExpectGolden("doctor.txt", ended.out);
}

TEST_F(VerbsTest, DoctorFailsWhereThisHostIsUnfit) {
  programs_["/bin/trainworker"] = {
      .out =
          R"({"checks": [{"name": "GPU 0", "verdict": "failure", "text": "V100"}], "links": []})"};
  EXPECT_EQ(Trainctl({"doctor"}).code, kExitFailure);
}

TEST_F(VerbsTest, DoctorOfWhoHasNoRoleSaysThatItIsNotAllowed) {
  coordinator_.workers_error = base::Error{base::Code::kDenied, "ben has no role on this site"};
  const Ended ended = Trainctl({"doctor"});
  EXPECT_EQ(ended.code, kExitDenied);
  EXPECT_NE(ended.out.find("ben has no role on this site"), std::string::npos) << ended.out;
}

TEST_F(VerbsTest, DoctorWithoutAWorkerBesideItSaysThatItLooksAtTheCoordinatorOnly) {
  const Ended ended = Trainctl({"doctor"});
  EXPECT_EQ(ended.code, 0);
  EXPECT_NE(ended.out.find("there is no trainworker beside this trainctl"), std::string::npos);
}

TEST_F(VerbsTest, DoctorDoesNotTrustAProbeThatItCannotRead) {
  programs_["/bin/trainworker"] = {.out = "Segmentation fault"};
  EXPECT_EQ(Trainctl({"doctor"}).code, kExitFailure);
}

}  // namespace
}  // namespace trainctl::client
