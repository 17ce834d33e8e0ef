// Verbs of trainctl against the real coordinator, over gRPC: what fakes of either side can't show.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>

#include "client/exit_code.h"
#include "client/show/calendar_time.h"
#include "client/show/output.h"
#include "common/base/file.h"
#include "common/job/job_json.h"
#include "common/peer/socket_owner.h"
#include "common/rank/rank_json.h"
#include "tests/agent/silent_proxy.h"
#include "tests/peer/stranger.h"
#include "tests/rpc/fake_worker.h"
#include "tests/rpc/trainctl_site.h"
#include "tests/rpc/training_job.h"
#include "worker/agent/encode.h"

namespace trainctl::rpc_test {
namespace {

using client::Json;

class TrainctlTest : public testing::Test {
 protected:
  Ended Run(const std::vector<std::string>& words) { return Trainctl(site_, words); }

  std::vector<std::string> Workers() {
    std::vector<std::string> names;
    const Json document = Json::parse(Run({"workers", "-o", "json"}).out);
    for (const Json& worker : document["workers"]) names.push_back(worker["name"]);
    return names;
  }

  TestSite site_;
  FakeWorker worker_{"a/0"};
};

TEST_F(TrainctlTest, WorkersRemoveTakesOnlyOneThatIsGone) {
  worker_.Connect(site_.channel());
  const Ended connected = Run({"workers", "remove", "a/0"});
  EXPECT_EQ(connected.code, client::kExitFailure);
  EXPECT_NE(connected.err.find("it is connected: stop it on its host first"), std::string::npos)
      << connected.err;
  EXPECT_EQ(Workers(), std::vector<std::string>{"a/0"});
  worker_.Disconnect();
  site_.Restart();
  const Ended removed = Run({"workers", "remove", "a/0"});
  EXPECT_EQ(removed.code, client::kExitOk) << removed.err;
  EXPECT_EQ(removed.out, "Removed a/0 from the inventory.\n");
  EXPECT_TRUE(Workers().empty());
  site_.Restart();
  EXPECT_TRUE(Workers().empty()) << "the store has forgotten it too";
  EXPECT_EQ(Run({"workers", "remove", "a/0"}).code, client::kExitNotFound);
}

TEST_F(TrainctlTest, TopNamesWhoElseUsesADevice) {
  worker_.SetKind("cuda");
  worker_.Connect(site_.channel());
  site_.Submit("beside-bo");
  const job::RankKey rank = worker_.Start();
  job::DeviceSample sample{.memory_used_bytes = int64_t{20} << 30};
  sample.foreign = {{4711, "bo", "python\x1b[2J", int64_t{19} << 30}};
  worker_.Send(agent::EncodeHeartbeat(sample, {}));
  worker_.Report(rank, job::RankStarted{.pid = 1});
  worker_.WaitForAck(rank, 1);
  const std::string top = Run({"top", "-1"}).out;
  EXPECT_NE(top.find("foreign"), std::string::npos) << top;
  EXPECT_NE(top.find("19.00 GiB"), std::string::npos) << top;
  EXPECT_NE(top.find("pid 4711 python\\u001b[2J (bo)"), std::string::npos) << top;
  const Json workers = Json::parse(Run({"workers", "-o", "json"}).out)["workers"];
  EXPECT_EQ(workers[0]["gpu"]["foreign_processes"][0]["user"], "bo");
}

TEST_F(TrainctlTest, AWorkerThatCannotWriteItsFolderIsSaidWithItsJob) {
  const std::string id = Train(site_, worker_, "held-up").id;
  const std::string said = "host a: no space left on /var/lib/trainctl: reports wait";
  const auto await_reason = [&](const std::string& reason) {
    site_.WaitFor(id, [&](const v1::JobView& view) { return view.reason() == reason; });
  };
  worker_.Send(agent::EncodeHeartbeat({}, {.trouble = "no space left on /var/lib/trainctl"}));
  await_reason(said);
  EXPECT_NE(Run({"status"}).out.find(said), std::string::npos) << Run({"status"}).out;
  for (const std::string verb : {"describe", "explain"})
    EXPECT_NE(Run({verb, id}).out.find(said), std::string::npos) << Run({verb, id}).out;
  EXPECT_NE(Run({"workers"}).out.find("no space left on"), std::string::npos);
  worker_.Send(agent::EncodeHeartbeat({}, {}));
  await_reason("");
}

TEST_F(TrainctlTest, ALabelOfAWorkerIsShownAndBindsJobs) {
  FakeWorker other("b/0");
  other.Connect(site_.channel());
  worker_.SetLabels({{"rack", "r1"}});
  worker_.Connect(site_.channel());
  EXPECT_NE(Run({"workers"}).out.find("rack=r1"), std::string::npos) << Run({"workers"}).out;
  const Json workers = Json::parse(Run({"workers", "-o", "json"}).out)["workers"];
  EXPECT_EQ(workers[0]["device"]["labels"], Json({{"rack", "r1"}}));
  EXPECT_EQ(workers[1]["device"]["labels"], Json::object());
  job::JobSpec bound = SmallJob("bound");
  bound.resources.constraints = {{"label.rack", "=r2"}};
  v1::SubmitRequest request;
  request.set_request_id("r");
  request.add_jobs()->set_job_json(job::ToJson(bound));
  v1::SubmitResponse response;
  const grpc::Status refused = site_.Call(&v1::Coordinator::Stub::Submit, request, &response);
  EXPECT_NE(refused.error_message().find("whose rack is: r1"), std::string::npos)
      << refused.error_message();
  bound.resources.constraints = {{"label.rack", "=r1"}};
  site_.Submit(bound);
  EXPECT_EQ(worker_.Start().job, base::JobId{1});
}

TEST_F(TrainctlTest, AGangGetsTheDevicesThatAreLinkedBest) {
  FakeWorker second("a/1"), third("a/2");
  worker_.SetLinks({{"cpu:a/1", "between sockets"}, {"cpu:a/2", "NVLink"}});
  second.SetLinks({{"cpu:a/0", "between sockets"}, {"cpu:a/2", "what comes some day"}});
  third.SetLinks({{"cpu:a/0", "NVLink"}, {"cpu:a/1", "between sockets"}});
  for (FakeWorker* worker : {&worker_, &second, &third}) worker->Connect(site_.channel());
  site_.Submit("gang", 2);
  const Json placement = Json::parse(Run({"status", "-o", "json"}).out)["jobs"][0]["placement"];
  EXPECT_EQ(placement, Json({"a/0", "a/2"}));
}

// From Hello to the store, from there to the check of a job, and to its place.
TEST_F(TrainctlTest, LinksOfAWorkerOutliveARestartAndBindGangs) {
  FakeWorker second("a/1"), third("a/2");
  const std::vector<FakeWorker*> workers = {&worker_, &second, &third};
  worker_.SetLinks({{"cpu:a/1", "between sockets"}, {"cpu:a/2", "NVLink"}});
  second.SetLinks({{"cpu:a/0", "between sockets"}, {"cpu:a/2", "between sockets"}});
  third.SetLinks({{"cpu:a/0", "NVLink"}, {"cpu:a/1", "between sockets"}});
  for (FakeWorker* worker : workers) {
    worker->SetKind("cuda");
    worker->Connect(site_.channel());
  }
  for (FakeWorker* worker : workers) worker->Disconnect();
  site_.Restart();
  const Json stored = Json::parse(Run({"workers", "-o", "json"}).out)["workers"];
  EXPECT_EQ(stored[0]["device"]["links"],
            Json({{"cpu:a/1", "between sockets"}, {"cpu:a/2", "NVLink"}}));
  job::JobSpec gang = SmallJob("gang", 3);
  gang.resources.constraints = {{"gpu.links", "=NVLink"}};
  v1::SubmitRequest request;
  request.set_request_id("r");
  request.add_jobs()->set_job_json(job::ToJson(gang));
  v1::SubmitResponse response;
  const grpc::Status refused = site_.Call(&v1::Coordinator::Stub::Submit, request, &response);
  EXPECT_NE(refused.error_message().find("at most 2 of this site have such links"),
            std::string::npos)
      << refused.error_message();
  gang.devices = 2;
  site_.Submit(gang);
  const std::string waits = Run({"status"}).out;
  EXPECT_NE(waits.find("waits for 2 devices (gpu.links =NVLink): 0 of 2 free"), std::string::npos)
      << waits;
  for (FakeWorker* worker : workers) worker->Connect(site_.channel());
  EXPECT_EQ(worker_.Start().rank, 0);
  EXPECT_EQ(third.Start().rank, 1);
}

// The coordinator's words have UTC alone.
TEST_F(TrainctlTest, WhenALeaseBeginsIsToldInLocalTime) {
  setenv("TZ", "TST-1:30", 1);
  tzset();
  const std::time_t start = (std::time(nullptr) / 60 + 120) * 60;
  std::tm there{};
  gmtime_r(&start, &there);
  char utc[64];
  std::strftime(utc, sizeof utc, "%Y-%m-%d %H:%M UTC", &there);
  worker_.Connect(site_.channel());
  const Ended made = Run({"lease", "create", "late", "--gpus", "1", "--start", utc, "--for", "1h"});
  EXPECT_EQ(made.code, client::kExitOk) << made.err;
  job::JobSpec job = SmallJob("under");
  job.resources.lease = "late";
  site_.Submit(job);
  const std::string told = "which begins " + client::LocalTime(int64_t{start} * 1'000'000);
  EXPECT_TRUE(told.ends_with("TST")) << told;
  for (const char* verb : {"describe", "explain", "status"}) {
    const std::string text = Run({verb, "j1"}).out;
    EXPECT_NE(text.find(told), std::string::npos) << text;
  }
  EXPECT_NE(Run({"status", "-o", "json"}).out.find(utc), std::string::npos) << "for programs";
  setenv("TZ", "UTC0", 1);
  tzset();
}

TEST_F(TrainctlTest, WhatIsNotKnownOfAWaitIsExplained) {
  Train(site_, worker_, "without-a-limit");
  job::JobSpec whole = SmallJob("whole");
  whole.exclusive = true;
  EXPECT_EQ(site_.Submit(whole), "j2");
  EXPECT_EQ(site_.Submit("behind"), "j3");
  const std::string told = Run({"explain", "j3"}).out;
  EXPECT_NE(told.find("not known (behind j2, exclusive)\n"), std::string::npos) << told;
  EXPECT_EQ(told.find("before the coordinator began"), std::string::npos) << told;
  site_.Restart();
  const std::string again = Run({"explain", "j3"}).out;
  EXPECT_NE(again.find("before the coordinator began, "), std::string::npos) << again;
}

TEST_F(TrainctlTest, UiPrintsWhereThePagesAre) {
  const Ended ended = Run({"ui"});
  EXPECT_EQ(ended.code, client::kExitOk) << ended.err;
  EXPECT_EQ(ended.out, "http://" + site_.dashboard() + "/\n");
}

TEST_F(TrainctlTest, WorkersRemoveNeedsAName) {
  const Ended ended = Run({"workers", "remove"});
  EXPECT_EQ(ended.code, client::kExitUsage);
  EXPECT_NE(ended.err.find("expected remove WORKER"), std::string::npos) << ended.err;
}

TEST_F(TrainctlTest, ANameOfSeveralJobsIsTheNewestAndIsSaid) {
  for (const char* request_id : {"first", "second"}) {
    v1::SubmitRequest request;
    request.set_request_id(request_id);
    request.add_jobs()->set_job_json(JobJson("twin"));
    v1::SubmitResponse response;
    ASSERT_TRUE(site_.Call(&v1::Coordinator::Stub::Submit, request, &response).ok());
  }
  const std::string both = "2 jobs have the name 'twin': j2, j1";
  const Ended status = Run({"status", "twin", "-o", "name"});
  EXPECT_EQ(status.out, "j2\n");
  EXPECT_EQ(status.err, "note: " + both + "; this is j2\n");
  const Ended refused = Run({"cancel", "twin"});
  EXPECT_EQ(refused.code, client::kExitUsage);
  EXPECT_NE(refused.err.find(both + ", and have not ended"), std::string::npos) << refused.err;
  EXPECT_EQ(Run({"cancel", "j2"}).out, "Asked twin (j2) to end.\n");
  site_.WaitForState("j2", "FINISHED");
  EXPECT_EQ(Run({"cancel", "twin"}).out, "Asked twin (j1) to end.\n") << "the other has ended";
  EXPECT_EQ(Run({"cancel", "j2"}).out, "twin (j2) has ended already (CANCELLED).\n");
}

TEST_F(TrainctlTest, WhoSubmittedIsShownAndRecorded) {
  site_.Submit("tiny");
  const std::string me = peer::UserName(geteuid());
  EXPECT_EQ(Json::parse(Run({"status", "-o", "json"}).out)["jobs"][0]["owner"], me);
  EXPECT_NE(Run({"describe", "j1"}).out.find(me), std::string::npos);
  EXPECT_EQ(Run({"cancel", "j1"}).code, client::kExitOk);
  const Json log = Json::parse(Run({"admin", "audit", "-o", "json"}).out)["audit"];
  ASSERT_EQ(log.size(), 2u);
  EXPECT_EQ(log[0]["action"], "cancel");
  EXPECT_EQ(log[1]["actor"], me);
  EXPECT_EQ(log[1]["subject"], "j1");
}

TEST_F(TrainctlTest, StatusFindsJobsByTagUserAndState) {
  job::JobSpec tagged = SmallJob("tagged");
  tagged.tags = {{"lab", "2"}};
  site_.Submit(tagged);
  site_.Submit("other");
  const std::string me = peer::UserName(geteuid());
  EXPECT_EQ(Run({"status", "--tag", "lab=2", "-o", "name"}).out, "j1\n");
  EXPECT_EQ(Run({"status", "--user", me, "-o", "name"}).out, "j2\nj1\n");
  EXPECT_EQ(Run({"status", "--user", "nobody-" + me, "-o", "name"}).out, "");
  const Json both = Json::parse(Run({"status", "--state", "queued,oom_gpu", "-o", "json"}).out);
  ASSERT_EQ(both["jobs"].size(), 2u);
  EXPECT_EQ(both["jobs"][1]["tags"], Json({{"lab", "2"}}));
}

// More than the coordinator tells of in one answer, and more than may be queued.
TEST_F(TrainctlTest, RmByARuleTakesAllJobsHoweverMany) {
  constexpr int kJobs = 10'003, kOfAGroup = 1'000;
  for (int first = 0; first < kJobs; first += kOfAGroup) {
    v1::SubmitRequest submitted;
    submitted.set_request_id("from " + std::to_string(first));
    submitted.set_group_name("group");
    for (int i = first; i < std::min(kJobs, first + kOfAGroup); ++i) {
      v1::JobSubmission& job = *submitted.add_jobs();
      job.set_job_json(JobJson("job-" + std::to_string(i)));
      job.set_inspection_json(InspectionJson());
    }
    v1::SubmitResponse accepted;
    ASSERT_TRUE(site_.Call(&v1::Coordinator::Stub::Submit, submitted, &accepted).ok());
    v1::CancelRequest cancelled;
    cancelled.add_jobs(accepted.group());
    v1::CancelResponse ended;
    ASSERT_TRUE(site_.Call(&v1::Coordinator::Stub::Cancel, cancelled, &ended).ok());
  }
  EXPECT_NE(Run({"rm", "--older-than", "0s", "--dry-run"}).out.find("10,003 jobs would be removed"),
            std::string::npos);
  const Ended removed = Run({"rm", "--state", "cancelled", "--yes"});
  EXPECT_EQ(removed.code, client::kExitOk) << removed.err;
  EXPECT_EQ(removed.out, "Removed 10,003 jobs.\n");
  EXPECT_EQ(Run({"status"}).out.substr(0, 7), "no jobs");
}

TEST_F(TrainctlTest, ADryRunSeesTheFolderOfAQueuedJob) {
  job::JobSpec spec = SmallJob("waits");
  spec.output = {.dir = site_.directory() + "/out/", .save = job::Save::kFinal};
  ASSERT_EQ(site_.Submit(spec), "j1");
  const std::string path = site_.directory() + "/job.json";
  ASSERT_TRUE(base::WriteFileAtomically(path, job::ToJson(SmallJob("second"))).ok());
  const auto dry_run = [&](const std::string& folder) {
    return Run({"submit", path, "--dry-run", "--output.save", "final", "--output.dir",
                site_.directory() + folder});
  };
  const Ended refused = dry_run("/data/../out");
  EXPECT_EQ(refused.code, client::kExitWouldNotRun) << refused.err;
  EXPECT_NE(refused.out.find("it is that of j1, which has not ended"), std::string::npos)
      << refused.out;
  EXPECT_EQ(dry_run("/other").code, client::kExitOk);
}

// A job of ten steps on the worker, which saves checkpoints and its model in /out.
class FinishedJobTest : public TrainctlTest {
 protected:
  FinishedJobTest() {
    worker_.Connect(site_.channel());
    worker_.SayFree();
    job::JobSpec spec = SmallJob("tiny");
    spec.train.max_steps = 10;
    spec.output = {.dir = "/out", .save = job::Save::kFinal};
    spec.checkpoint.every_steps = 4;
    site_.Submit(spec);
    key_ = worker_.Start();
    worker_.BeginTraining(key_);
    Save({"checkpoint", "/out/checkpoints/step-4", 5, "files"});
    Save({"checkpoint", "/out/checkpoints/step-8", 5, "files", {"/out/checkpoints/step-4"}});
    worker_.Report(key_, job::RankProgress{.step = 10, .steps = 10});
    Save({"final", "/out", 7, "files"});
    worker_.Succeed(key_);
    site_.WaitForState("j1", "FINISHED");
  }

  // As a line of the rank, through the worker.
  void Save(const job::RankSaved& saved) {
    worker_.Report(key_, job::ToBody(job::RankMessageFromLine(job::ToLine(saved)).value()));
  }

  // Past trainctl's own look: what the coordinator decides.
  grpc::Status Submit(const std::function<void(job::JobSpec&)>& change) {
    job::JobSpec spec = job::FromJson(site_.Get("j1").job_json()).value();
    spec.checkpoint.resume_from = "/out/checkpoints";
    spec.checkpoint.resume_job = "j1";
    change(spec);
    v1::SubmitRequest request;
    request.set_request_id("resume " + std::to_string(++requests_));
    request.add_jobs()->set_job_json(job::ToJson(spec));
    request.mutable_jobs(0)->set_inspection_json(InspectionJson());
    v1::SubmitResponse response;
    return site_.Call(&v1::Coordinator::Stub::Submit, request, &response);
  }

  job::RankKey key_;
  int requests_ = 0;
};

TEST_F(FinishedJobTest, ArtifactsAreThoseThatAreStillThere) {
  const Json document = Json::parse(Run({"artifacts", "ls", "j1", "-o", "json"}).out);
  std::vector<std::string> paths;
  for (const Json& artifact : document["artifacts"]) paths.push_back(artifact["path"]);
  EXPECT_EQ(paths, (std::vector<std::string>{"/out/checkpoints/step-8", "/out"}));
  const Ended pruned = Run({"artifacts", "get", "j1", "step-4", site_.directory() + "/copy"});
  EXPECT_EQ(pruned.code, client::kExitNotFound);
  EXPECT_NE(pruned.err.find("has saved no 'step-4', but step-8, out"), std::string::npos)
      << pruned.err;
}

TEST_F(FinishedJobTest, RmForgetsWhatHasEndedWithItsLogs) {
  worker_.Log(key_, 0, "the end\n");
  worker_.Next(v1::CoordinatorMessage::kLogAck);
  const std::string logs = site_.directory() + "/logs/j1";
  ASSERT_TRUE(std::filesystem::exists(logs));
  ASSERT_EQ(site_.Submit("waits"), "j2");
  EXPECT_EQ(Run({"rm", "j1"}).code, client::kExitUsage) << "without --yes";
  EXPECT_EQ(Run({"rm", "j1", "j2", "--yes"}).code, client::kExitFailure);
  EXPECT_EQ(site_.Get("j1").view().state(), "FINISHED") << "all or none";
  EXPECT_EQ(Run({"rm", "--older-than", "1h", "--yes"}).out, "Removed 0 jobs.\n");
  const Ended removed = Run({"rm", "--state", "succeeded", "--yes"});
  EXPECT_EQ(removed.out, "Removed 1 job.\n") << removed.err;
  EXPECT_FALSE(std::filesystem::exists(logs));
  EXPECT_EQ(Run({"describe", "j1"}).code, client::kExitNotFound);
  worker_.Log(key_, 8, "too late\n");
  site_.Restart();
  EXPECT_EQ(Run({"status", "-o", "name"}).out, "j2\n");
  EXPECT_FALSE(std::filesystem::exists(logs));
  EXPECT_NE(Run({"admin", "audit"}).out.find("rm"), std::string::npos);
}

TEST_F(FinishedJobTest, AJobThatAnotherGoesOnFromIsNotRemoved) {
  ASSERT_TRUE(Submit([](job::JobSpec& spec) {
                spec.train.max_steps = 20;
                spec.output.dir = "/more";
              }).ok());
  const Ended refused = Run({"rm", "j1", "--yes"});
  EXPECT_EQ(refused.code, client::kExitFailure);
  EXPECT_NE(refused.err.find("j2, which has not ended, goes on from j1"), std::string::npos)
      << refused.err;
}

TEST_F(FinishedJobTest, AJobThatHasMadeAllItsStepsIsNotResumed) {
  const Ended refused = Run({"resume", "j1"});
  EXPECT_EQ(refused.code, client::kExitUsage);
  EXPECT_NE(refused.err.find("tiny (j1) has made all its 10 steps, and its model is in /out"),
            std::string::npos)
      << refused.err;
  const grpc::Status same = Submit([](job::JobSpec&) {});
  EXPECT_EQ(same.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_NE(same.error_message().find("has made all its 10 steps"), std::string::npos)
      << same.error_message();
  EXPECT_FALSE(Submit([](job::JobSpec& spec) { spec.train.max_steps = 20; }).ok())
      << "over its model";
  EXPECT_FALSE(Submit([](job::JobSpec& spec) { spec.output.dir = "/more"; }).ok());
  const grpc::Status more = Submit([](job::JobSpec& spec) {
    spec.train.max_steps = 20;
    spec.output.dir = "/more";
  });
  EXPECT_TRUE(more.ok()) << more.error_message();
}

// In the same words: one rule tells both (common/job/lease_room.h).
TEST_F(TrainctlTest, WhatALeaseHasNoRoomForIsRefusedByTheClientAsByTheCoordinator) {
  worker_.Connect(site_.channel());
  FakeWorker beside("a/1");
  beside.Connect(site_.channel());
  const Ended made = Run({"lease", "create", "lab", "--gpus", "1", "--for", "2h"});
  ASSERT_EQ(made.code, client::kExitOk) << made.err;
  const std::string path = site_.directory() + "/job.json";
  for (const bool exclusive : {false, true}) {
    job::JobSpec job = SmallJob("too-large");
    job.devices = exclusive ? 1 : 2;
    job.exclusive = exclusive;
    ASSERT_TRUE(base::WriteFileAtomically(path, job::ToJson(job)).ok());
    const Ended told = Run({"submit", path, "--within", "lab"});
    EXPECT_EQ(told.code, client::kExitUsage);
    job.resources.lease = "lab";
    v1::SubmitRequest request;
    request.set_request_id(exclusive ? "exclusive" : "wide");
    request.add_jobs()->set_job_json(job::ToJson(job));
    request.mutable_jobs(0)->set_inspection_json(InspectionJson());
    v1::SubmitResponse response;
    const grpc::Status refused = site_.Call(&v1::Coordinator::Stub::Submit, request, &response);
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    const std::string why =
        refused.error_message().substr(refused.error_message().find("lease 'lab'"));
    EXPECT_NE(told.err.find(why), std::string::npos) << told.err << why;
  }
}

// Whoever takes the port of a coordinator that is down learns nothing of what is submitted.
TEST_F(TrainctlTest, AStrangersListenerIsSentNothing) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can make a socket of another user";
  const peer::Stranger stranger(65534);
  const std::string name = peer::UserName(65534);
  const auto refused = client::ConnectGrpc({stranger.address(), {}})->Workers();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, base::Code::kDenied);
  EXPECT_NE(refused.error().message.find("user '" + name + "' listens there"), std::string::npos)
      << refused.error().message;
  EXPECT_NE(refused.error().message.find("say TRAINCTL_SERVER_USER=" + name), std::string::npos);
  while (stranger.taken() == 0) std::this_thread::yield();
  EXPECT_EQ(stranger.bytes(), 0u);
}

// As where the coordinator is stopped: an inspection may take minutes, its silence may not.
TEST_F(TrainctlTest, ACallThatIsOpenWhereTheCoordinatorFallsSilentEndsLongBeforeItsDeadline) {
  tests::SilentProxy proxy(site_.address());
  const auto api = client::ConnectGrpc({proxy.address(), {}});
  ASSERT_TRUE(api->Workers().ok());
  proxy.FallSilent();
  v1::InspectRequest request;
  request.set_job_json(JobJson("long"));
  const auto begin = std::chrono::steady_clock::now();
  const auto refused = api->Inspect(request);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, base::Code::kUnavailable);
  EXPECT_NE(refused.error().message.find("no answer from the coordinator at " + proxy.address()),
            std::string::npos)
      << refused.error().message;
}

TEST_F(TrainctlTest, AClientConnectsAnewWhereTheCoordinatorIsBack) {
  const auto api = client::ConnectGrpc({site_.address(), {}});
  ASSERT_TRUE(api->Workers().ok());
  const std::string address = site_.address();
  site_.Stop();
  const auto refused = api->Workers();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, base::Code::kUnavailable);
  EXPECT_NE(refused.error().message.find("no answer from the coordinator at " + address),
            std::string::npos);
  coordinator::Options options;
  options.listen = address;
  options.directory = site_.directory();
  const base::SystemClock clock;
  QuietLog log;
  const auto again = coordinator::Daemon::Start(options, clock, log);
  ASSERT_TRUE(again.ok()) << again.error().message;
  const auto answered = api->Workers();
  EXPECT_TRUE(answered.ok()) << answered.error().message;
}

}  // namespace
}  // namespace trainctl::rpc_test
