// Watch, Logs and Inspect over the real stream.
#include <gtest/gtest.h>

#include <algorithm>
#include <future>

#include "tests/rpc/fake_worker.h"
#include "tests/rpc/test_site.h"

namespace trainctl::rpc_test {
namespace {

using Stub = v1::Coordinator::Stub;

TEST(Watch, EndsWhenAllAreFinishedAndSaysLittleMoreThanNeeded) {
  TestSite site;
  FakeWorker worker("a/0");
  worker.Connect(site.channel());
  const std::string job = site.Submit("busy");
  const job::RankKey rank = worker.Start();
  v1::WatchRequest request;
  request.add_jobs(job);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kDeadline);
  const auto watch = site.stub().Watch(&context, request);
  worker.BeginTraining(rank);
  constexpr int kSteps = 500;
  for (int step = 1; step <= kSteps; ++step)
    worker.Report(rank, job::RankProgress{.step = step, .steps = kSteps});
  worker.Succeed(rank);
  std::vector<v1::JobView> views;
  for (v1::JobView view; watch->Read(&view);) views.push_back(view);
  EXPECT_TRUE(watch->Finish().ok());
  ASSERT_FALSE(views.empty());
  EXPECT_EQ(views.back().state(), "FINISHED");
  EXPECT_EQ(views.back().step(), kSteps);
  EXPECT_LT(views.size(), kSteps) << "views are coalesced: " << kSteps
                                  << " steps are not as many views";
}

grpc::StatusCode RefusalOfWatch(TestSite& site, const v1::WatchRequest& request) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kDeadline);
  const auto watch = site.stub().Watch(&context, request);
  v1::JobView view;
  EXPECT_FALSE(watch->Read(&view));
  return watch->Finish().error_code();
}

TEST(Watch, OfAnUnknownJobOrOfNoneIsRefused) {
  TestSite site;
  v1::WatchRequest request;
  EXPECT_EQ(RefusalOfWatch(site, request), grpc::StatusCode::INVALID_ARGUMENT);
  request.add_jobs("nobody");
  EXPECT_EQ(RefusalOfWatch(site, request), grpc::StatusCode::NOT_FOUND);
}

TEST(Watch, WhoGoesAwayLeavesNothingBehind) {
  TestSite site;
  const std::string job = site.Submit("watched");
  for (int i = 0; i < 20; ++i) site.WaitForState(job, "QUEUED");  // each leaves before the end
  v1::CancelRequest request;
  request.add_jobs(job);
  v1::CancelResponse response;
  ASSERT_TRUE(site.Call(&Stub::Cancel, request, &response).ok());
  EXPECT_EQ(site.WaitForState(job, "FINISHED").outcome(), "CANCELLED");
}

TEST(Logs, FollowGoesOnUntilTheJobEnds) {
  TestSite site;
  FakeWorker worker("a/0");
  worker.Connect(site.channel());
  const std::string job = site.Submit("talks");
  v1::LogsRequest request;
  request.set_job(job);
  request.set_follow(true);
  std::string text;
  auto followed = std::async(std::launch::async, [&] { return site.Logs(request, &text); });
  const job::RankKey rank = worker.Start();
  worker.BeginTraining(rank);
  worker.Log(rank, 0, "first\n");
  worker.WaitForLogAck(rank, 6);
  worker.Log(rank, 6, "second\n");
  worker.Succeed(rank);
  EXPECT_TRUE(followed.get().ok());
  EXPECT_EQ(text, "first\nsecond\n");
}

TEST(Logs, FollowTellsOfEachAttemptInTurn) {
  TestSite site;
  FakeWorker worker("a/0");
  worker.Connect(site.channel());
  job::JobSpec restarts = SmallJob("restarts");
  restarts.resources.max_restarts = 1;
  const std::string job = site.Submit(restarts);
  const job::RankKey first = worker.Start();
  worker.Log(first, 0, "one\n");
  worker.WaitForLogAck(first, 4);
  worker.Report(first, job::RankExit{.signal = 9});
  worker.SayFree();
  const job::RankKey second = worker.Start();
  worker.Log(second, 0, "two\n");
  worker.WaitForLogAck(second, 4);
  v1::LogsRequest request;
  request.set_job(job);
  request.set_follow(true);
  request.add_from()->set_attempt(1);
  request.mutable_from(0)->set_offset(2);
  std::string text;
  auto followed = std::async(std::launch::async, [&] { return site.Logs(request, &text); });
  worker.Succeed(second);
  EXPECT_TRUE(followed.get().ok());
  EXPECT_EQ(text, "e\ntwo\n");
}

class TalkingRanks : public testing::Test {
 protected:
  void SetUp() override {
    first_.Connect(site_.channel());
    second_.Connect(site_.channel());
    job_ = site_.Submit("pair", 2);
    for (FakeWorker* worker : {&first_, &second_}) {
      const job::RankKey rank = worker->Start();
      const std::string text = "rank " + std::to_string(rank.rank) + "\nend\n";
      worker->Log(rank, 0, text);
      worker->WaitForLogAck(rank, static_cast<int64_t>(text.size()));
    }
  }
  std::string Read(const std::function<void(v1::LogsRequest*)>& change) {
    v1::LogsRequest request;
    request.set_job(job_);
    change(&request);
    std::string text;
    const grpc::Status status = site_.Logs(request, &text);
    return status.ok() ? text : status.error_message();
  }

  TestSite site_;
  FakeWorker first_{"a/0"}, second_{"a/1"};
  std::string job_;
};

TEST_F(TalkingRanks, AreHeardTogetherOrOneAlone) {
  EXPECT_EQ(Read([](v1::LogsRequest*) {}), "rank 0\nend\nrank 1\nend\n");
  EXPECT_EQ(Read([](v1::LogsRequest* request) { request->set_rank(1); }), "rank 1\nend\n");
}

TEST_F(TalkingRanks, TailCountsLinesOfEachRank) {
  EXPECT_EQ(Read([](v1::LogsRequest* request) { request->set_tail_lines(1); }), "end\nend\n");
}

v1::LogPosition* From(v1::LogsRequest* request, int64_t attempt, int64_t rank, int64_t offset) {
  v1::LogPosition* position = request->add_from();
  position->set_attempt(attempt);
  position->set_rank(rank);
  position->set_offset(offset);
  return position;
}

TEST_F(TalkingRanks, AreReadOnFromWhereAnEarlierCallWasCutOff) {
  EXPECT_EQ(Read([](v1::LogsRequest* request) { From(request, 1, 1, 7); }), "rank 0\nend\nend\n");
  EXPECT_EQ(Read([](v1::LogsRequest* request) { From(request, 1, 0, 11), From(request, 1, 1, 9); }),
            "d\n");
}

TEST_F(TalkingRanks, APositionThatCannotBeIsRefused) {
  EXPECT_EQ(Read([](v1::LogsRequest* request) { From(request, 1, 2, 0); }),
            "j1 has no rank 2: it has 2");
  EXPECT_EQ(Read([](v1::LogsRequest* request) { From(request, 2, 0, 0); }),
            "j1 has no attempt 2: it has 1");
  EXPECT_EQ(Read([](v1::LogsRequest* request) { From(request, 1, 0, -1); }),
            "from: offset -1: expected 0 or more");
}

TEST_F(TalkingRanks, EachChunkSaysWhereItBegins) {
  v1::LogsRequest request;
  request.set_job(job_);
  From(&request, 1, 0, 7);
  request.set_rank(0);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kDeadline);
  const auto reader = site_.stub().Logs(&context, request);
  v1::LogChunk chunk;
  ASSERT_TRUE(reader->Read(&chunk));
  EXPECT_EQ(chunk.attempt(), 1);
  EXPECT_EQ(chunk.offset(), 7);
  EXPECT_EQ(chunk.data(), "end\n");
  EXPECT_FALSE(reader->Read(&chunk));
  EXPECT_TRUE(reader->Finish().ok());
}

TEST_F(TalkingRanks, AnUnknownRankOrAttemptIsNamed) {
  EXPECT_EQ(Read([](v1::LogsRequest* request) { request->set_rank(2); }),
            "j1 has no rank 2: it has 2");
  EXPECT_EQ(Read([](v1::LogsRequest* request) { request->set_attempt(2); }),
            "j1 has no attempt 2: it has 1");
}

TEST(Inspect, IsAnsweredByAWorker) {
  TestSite site;
  FakeWorker worker("a/0");
  worker.Connect(site.channel());
  v1::InspectRequest request;
  request.set_job_json(JobJson("tiny"));
  v1::InspectResponse response;
  auto status =
      std::async(std::launch::async, [&] { return site.Call(&Stub::Inspect, request, &response); });
  const v1::InspectAsk ask = worker.Next(v1::CoordinatorMessage::kInspect).inspect();
  EXPECT_EQ(ask.job_json(), JobJson("tiny"));
  v1::WorkerMessage answer;
  answer.mutable_inspect_result()->set_request_id(ask.request_id());
  answer.mutable_inspect_result()->set_inspection_json(InspectionJson());
  worker.Send(answer);
  EXPECT_TRUE(status.get().ok());
  EXPECT_EQ(response.inspection_json(), InspectionJson());
}

// What Inspect says where the worker answers so.
grpc::Status Inspected(const std::string& error, bool unavailable) {
  TestSite site;
  FakeWorker worker("a/0");
  worker.Connect(site.channel());
  v1::InspectRequest request;
  request.set_job_json(JobJson("tiny"));
  v1::InspectResponse response;
  auto status =
      std::async(std::launch::async, [&] { return site.Call(&Stub::Inspect, request, &response); });
  v1::WorkerMessage answer;
  answer.mutable_inspect_result()->set_request_id(
      worker.Next(v1::CoordinatorMessage::kInspect).inspect().request_id());
  answer.mutable_inspect_result()->set_error(error);
  answer.mutable_inspect_result()->set_unavailable(unavailable);
  worker.Send(answer);
  return status.get();
}

TEST(Inspect, TellsWhatTheWorkerCouldNotRead) {
  const grpc::Status told = Inspected("/models/tiny: no such folder", /*unavailable=*/false);
  EXPECT_EQ(told.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(told.error_message(), "/models/tiny: no such folder");
}

TEST(Inspect, IsUnavailableWhereTheWorkerHasNoTime) {
  EXPECT_EQ(Inspected("busy", /*unavailable=*/true).error_code(), grpc::StatusCode::UNAVAILABLE);
}

// The id of a job that was submitted uninspected.
std::string SubmitUninspected(TestSite& site) {
  v1::SubmitRequest request;
  request.set_request_id("r1");
  request.add_jobs()->set_job_json(JobJson("late"));
  v1::SubmitResponse response;
  EXPECT_TRUE(site.Call(&Stub::Submit, request, &response).ok());
  return response.jobs_size() == 1 ? response.jobs(0).id() : "";
}

TEST(LateInspection, IsStoredWithItsPredictionBeforeTheJobStarts) {
  TestSite site;
  const std::string job = SubmitUninspected(site);
  FakeWorker worker("a/0");
  worker.Connect(site.channel());
  const v1::InspectAsk ask = worker.Next(v1::CoordinatorMessage::kInspect).inspect();
  EXPECT_EQ(ask.job_json(), JobJson("late"));
  const std::string reason = site.WaitForState(job, "QUEUED").reason();
  EXPECT_TRUE(reason.starts_with("its model and data are being inspected by a/0 (")) << reason;
  v1::WorkerMessage answer;
  answer.mutable_inspect_result()->set_request_id(ask.request_id());
  answer.mutable_inspect_result()->set_inspection_json(InspectionJson());
  worker.Send(answer);
  worker.Start();
  site.Restart();
  const v1::JobDetail detail = site.Get(job);
  EXPECT_EQ(detail.inspection_json(), InspectionJson());
  EXPECT_NE(detail.prediction_json().find("peak_allocated"), std::string::npos);
}

TEST(LateInspection, OfAWorkerThatGoesAwayIsAskedOfAnother) {
  TestSite site;
  const std::string job = SubmitUninspected(site);
  FakeWorker first("a/0"), second("a/1");
  first.Connect(site.channel());
  first.Next(v1::CoordinatorMessage::kInspect);
  first.Disconnect();
  second.Connect(site.channel());
  v1::WorkerMessage answer;
  answer.mutable_inspect_result()->set_request_id(
      second.Next(v1::CoordinatorMessage::kInspect).inspect().request_id());
  answer.mutable_inspect_result()->set_error("/data/rows.json: no such file");
  second.Send(answer);
  const v1::JobView view = site.WaitForState(job, "FINISHED");
  EXPECT_EQ(view.outcome(), "LAUNCH_FAILED");
  EXPECT_EQ(view.message(), "on host a: /data/rows.json: no such file");
}

TEST(Inspect, IsUnavailableWithoutAWorkerAndWhenItGoesAway) {
  TestSite site;
  v1::InspectRequest request;
  request.set_job_json(JobJson("tiny"));
  v1::InspectResponse response;
  EXPECT_EQ(site.Call(&Stub::Inspect, request, &response).error_code(),
            grpc::StatusCode::UNAVAILABLE);
  FakeWorker worker("a/0");
  worker.Connect(site.channel());
  auto status =
      std::async(std::launch::async, [&] { return site.Call(&Stub::Inspect, request, &response); });
  worker.Next(v1::CoordinatorMessage::kInspect);
  worker.Disconnect();
  EXPECT_EQ(status.get().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST(Workers, AreShownWithWhatTheySaidLast) {
  TestSite site;
  FakeWorker worker("a/0");
  worker.Connect(site.channel());
  v1::InspectRequest request;
  request.set_job_json(JobJson("tiny"));
  v1::InspectResponse inspected;
  auto status = std::async(std::launch::async,
                           [&] { return site.Call(&Stub::Inspect, request, &inspected); });
  v1::WorkerMessage heartbeat;
  heartbeat.mutable_heartbeat()->mutable_device()->set_power_watts(350);
  heartbeat.mutable_heartbeat()->mutable_device()->set_utilization_percent(40);
  heartbeat.mutable_heartbeat()->mutable_host()->set_cpu_percent(12);
  worker.Send(heartbeat);
  v1::WorkerMessage
      answer;  // comes behind the heartbeat, so that its effect is there when Inspect returns
  answer.mutable_inspect_result()->set_request_id(
      worker.Next(v1::CoordinatorMessage::kInspect).inspect().request_id());
  answer.mutable_inspect_result()->set_inspection_json(InspectionJson());
  worker.Send(answer);
  ASSERT_TRUE(status.get().ok());

  v1::WorkersResponse workers;
  ASSERT_TRUE(site.Call(&Stub::Workers, v1::WorkersRequest(), &workers).ok());
  ASSERT_EQ(workers.workers_size(), 1);
  EXPECT_EQ(workers.workers(0).name(), "a/0");
  EXPECT_EQ(workers.workers(0).state(), "READY");
  EXPECT_EQ(workers.workers(0).device_sample().power_watts(), 350);
  EXPECT_FALSE(workers.workers(0).device_sample().has_temperature_celsius()) << "nobody told";
  EXPECT_EQ(workers.workers(0).host_sample().cpu_percent(), 12);
  EXPECT_FALSE(workers.version().empty());
  v1::ListRequest list;
  v1::ListResponse listed;
  ASSERT_TRUE(site.Call(&Stub::List, list, &listed).ok());
  EXPECT_FALSE(listed.workers(0).has_load_history()) << "nobody asked";
  list.set_load_history(true);
  ASSERT_TRUE(site.Call(&Stub::List, list, &listed).ok());
  const v1::LoadHistory& loads = listed.workers(0).load_history();
  EXPECT_EQ(std::ranges::count(loads.device_percent(), 40), 1);
  EXPECT_EQ(std::ranges::count(loads.host_percent(), 12), 1);
  EXPECT_EQ(std::ranges::count(loads.host_percent(), -1), loads.host_percent_size() - 1);
}

}  // namespace
}  // namespace trainctl::rpc_test
