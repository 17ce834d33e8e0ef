// Nothing that a client or a worker sends is believed: each fault is an error that names its place,
// and the coordinator goes on.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "common/job/job_json.h"
#include "tests/rpc/fake_worker.h"
#include "tests/rpc/test_site.h"

namespace trainctl::rpc_test {
namespace {

using Stub = v1::Coordinator::Stub;

v1::SubmitRequest ValidSubmit() {
  v1::SubmitRequest request;
  request.set_request_id("r1");
  request.add_jobs()->set_job_json(JobJson("tiny"));
  return request;
}

std::string JobWith(const std::function<void(job::JobSpec&)>& change) {
  job::JobSpec spec = *job::FromJson(JobJson("tiny"));
  change(spec);
  return job::ToJson(spec);
}

TEST(MalformedInput, EachFaultOfASubmissionIsRefusedWithItsPlace) {
  struct Case {
    std::string place;
    std::function<void(v1::SubmitRequest&)> damage;
  };
  const Case cases[] = {
      {"request_id:", [](auto& r) { r.clear_request_id(); }},
      {"request_id:", [](auto& r) { r.set_request_id(std::string(1000, 'x')); }},
      {"jobs:", [](auto& r) { r.clear_jobs(); }},
      {"jobs:",
       [](auto& r) {
         // Empty: ThreadSanitizer takes 20 s to free 1,001 whole ones that gRPC handed over.
         while (r.jobs_size() <= 1000) r.add_jobs();
       }},
      {"group_name:", [](auto& r) { *r.add_jobs() = r.jobs(0); }},
      {"group_name:", [](auto& r) { r.set_group_name("a\nb"); }},
      {"jobs[0]", [](auto& r) { r.mutable_jobs(0)->set_job_json(""); }},
      {"jobs[0]", [](auto& r) { r.mutable_jobs(0)->set_job_json("{]"); }},
      {"jobs[0]", [](auto& r) { r.mutable_jobs(0)->set_job_json("[1, 2]"); }},
      {"jobs[0]", [](auto& r) { r.mutable_jobs(0)->set_job_json(std::string(100'000, '[')); }},
      {"jobs[0]", [](auto& r) { r.mutable_jobs(0)->set_job_json("{\"version\": 1e999}"); }},
      {"jobs[0].job_json:",
       [](auto& r) { r.mutable_jobs(0)->set_job_json(std::string(2 << 20, ' ')); }},
      {"devices",
       [](auto& r) {
         r.mutable_jobs(0)->set_job_json(JobWith([](auto& spec) { spec.devices = -1; }));
       }},
      {"devices",
       [](auto& r) {
         r.mutable_jobs(0)->set_job_json(
             JobWith([](auto& spec) { spec.devices = int64_t{1} << 60; }));
       }},
      {"lr",
       [](auto& r) {
         r.mutable_jobs(0)->set_job_json(JobWith([](auto& spec) { spec.optimizer.lr = -1; }));
       }},
      {"jobs[0].inspection_json", [](auto& r) { r.mutable_jobs(0)->set_inspection_json("{"); }},
      {"jobs[0].prediction_json", [](auto& r) { r.mutable_jobs(0)->set_prediction_json("7"); }},
      {"jobs[0].prediction_json",
       [](auto& r) { r.mutable_jobs(0)->set_prediction_json(std::string(1 << 20, ' ')); }},
  };
  TestSite site;
  for (const Case& c : cases) {
    v1::SubmitRequest request = ValidSubmit();
    c.damage(request);
    v1::SubmitResponse response;
    const grpc::Status status = site.Call(&Stub::Submit, request, &response);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << c.place;
    EXPECT_NE(status.error_message().find(c.place), std::string::npos) << status.error_message();
  }
  v1::ListResponse listed;
  ASSERT_TRUE(site.Call(&Stub::List, v1::ListRequest(), &listed).ok());
  EXPECT_EQ(listed.jobs_size(), 0) << "nothing refused may be there";
}

TEST(MalformedInput, AllProblemsOfAllJobsAreListedAtOnce) {
  TestSite site;
  v1::SubmitRequest request = ValidSubmit();
  request.clear_request_id();
  request.set_group_name("lab");
  request.add_jobs()->set_job_json("{");
  request.add_jobs()->set_job_json(JobWith([](auto& spec) { spec.devices = 0; }));
  v1::SubmitResponse response;
  const std::string message = site.Call(&Stub::Submit, request, &response).error_message();
  EXPECT_NE(message.find("request_id"), std::string::npos) << message;
  EXPECT_NE(message.find("jobs[1]"), std::string::npos) << message;
  EXPECT_NE(message.find("jobs[2]"), std::string::npos) << message;
}

// gRPC puts the message into a header, and a peer refuses headers of more than 8 KiB.
TEST(MalformedInput, OfVeryManyProblemsTheFirstAreToldAndTheOthersCounted) {
  TestSite site;
  v1::SubmitRequest request = ValidSubmit();
  request.set_group_name("lab");
  while (request.jobs_size() < 500) request.add_jobs()->set_job_json("{");
  v1::SubmitResponse response;
  const grpc::Status status = site.Call(&Stub::Submit, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  const std::string& message = status.error_message();
  EXPECT_NE(message.find("jobs[1]: "), std::string::npos) << message;
  const auto told = std::ranges::count(message, '\n');
  EXPECT_TRUE(message.ends_with("… and " + std::to_string(499 - told) + " lines more")) << message;
}

TEST(MalformedInput, ARequestBeyondTheMessageBoundIsRefused) {
  TestSite site;
  v1::SubmitRequest request = ValidSubmit();
  request.mutable_jobs(0)->set_job_json(std::string(20 << 20, ' '));
  v1::SubmitResponse response;
  EXPECT_EQ(site.Call(&Stub::Submit, request, &response).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST(MalformedInput, AQuestionOfAFewNamesMayNotBeALargeOne) {
  TestSite site;
  v1::GetRequest request;
  request.set_job(std::string(3 << 20, 'x'));
  v1::GetResponse response;
  const grpc::Status status = site.Call(&Stub::Get, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(status.error_message(), "the request has 3145733 bytes: expected at most 2097152");
}

// Of two bytes each, a hundred in memory.
TEST(MalformedInput, ARequestOfVeryManyFieldsIsRefusedBeforeItIsParsed) {
  TestSite site;
  v1::EarlierRunsRequest request;
  for (int i = 0; i < 10'001; ++i) request.add_jobs();
  v1::EarlierRunsResponse response;
  const grpc::Status status = site.Call(&Stub::EarlierRuns, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(),
            "the request can't be read: expected a trainctl.v1.EarlierRunsRequest of at most 10000 "
            "fields");
}

// It may be a thousand times as large once it is unpacked.
TEST(MalformedInput, ACompressedRequestIsRefused) {
  TestSite site;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kDeadline);
  context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
  v1::GetRequest request;
  request.set_job(std::string(1 << 20, 'x'));
  v1::GetResponse response;
  EXPECT_EQ(site.stub().Get(&context, request, &response).error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
}

TEST(MalformedInput, ASiteWithoutWorkersAcceptsWithAWarning) {
  TestSite site;
  v1::SubmitResponse response;
  ASSERT_TRUE(site.Call(&Stub::Submit, ValidSubmit(), &response).ok());
  EXPECT_EQ(response.warnings_size(), 1);
}

TEST(MalformedInput, MoreDevicesThanTheSiteHasAreRefused) {
  TestSite site;
  FakeWorker worker("a/0");
  worker.Connect(site.channel());
  v1::SubmitRequest request;
  request.set_request_id("r1");
  request.add_jobs()->set_job_json(JobJson("wide", 2));
  v1::SubmitResponse response;
  const grpc::Status status = site.Call(&Stub::Submit, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_NE(status.error_message().find("devices"), std::string::npos) << status.error_message();
  worker.Disconnect();
  EXPECT_NE(site.Submit("narrow"), "") << "a worker that is away still counts";
}

TEST(MalformedInput, UnknownNamesAreNotFound) {
  TestSite site;
  v1::GetRequest get;
  get.set_job("nobody");
  v1::GetResponse got;
  EXPECT_EQ(site.Call(&Stub::Get, get, &got).error_code(), grpc::StatusCode::NOT_FOUND);
  v1::CancelRequest cancel;
  cancel.add_jobs("j99");
  v1::CancelResponse cancelled;
  EXPECT_EQ(site.Call(&Stub::Cancel, cancel, &cancelled).error_code(), grpc::StatusCode::NOT_FOUND);
  v1::CompareRequest compare;
  compare.add_jobs("'; DROP TABLE jobs; --");
  v1::CompareResponse compared;
  EXPECT_EQ(site.Call(&Stub::Compare, compare, &compared).error_code(),
            grpc::StatusCode::NOT_FOUND);
  v1::LogsRequest logs;
  logs.set_job("../../etc/passwd");
  std::string text;
  EXPECT_EQ(site.Logs(logs, &text).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST(MalformedInput, BadFiltersAreNamed) {
  TestSite site;
  v1::ListRequest request;
  request.add_states("SLEEPING");
  v1::ListResponse response;
  EXPECT_EQ(site.Call(&Stub::List, request, &response).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  request.clear_states();
  request.set_limit(-1);
  EXPECT_EQ(site.Call(&Stub::List, request, &response).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  request.set_limit(0);
  request.set_before("the-first");
  EXPECT_EQ(site.Call(&Stub::List, request, &response).error_message(),
            "before: 'the-first': expected a job's id");
  v1::CancelResponse cancelled;
  EXPECT_EQ(site.Call(&Stub::Cancel, v1::CancelRequest(), &cancelled).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  v1::CompareResponse compared;
  EXPECT_EQ(site.Call(&Stub::Compare, v1::CompareRequest(), &compared).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

// The end of a stream on which this was the first message.
grpc::Status EndAfter(TestSite& site, const v1::WorkerMessage& message) {
  const auto stub = v1::WorkerGateway::NewStub(site.channel());
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kDeadline);
  const auto stream = stub->Connect(&context);
  stream->Write(message);
  v1::CoordinatorMessage answer;
  while (stream->Read(&answer)) {
  }
  return stream->Finish();
}

TEST(MalformedInput, AWorkerIsRefusedForEachFaultOfItsHello) {
  TestSite site;
  EXPECT_EQ(EndAfter(site, v1::WorkerMessage()).error_code(), grpc::StatusCode::INVALID_ARGUMENT)
      << "not a Hello";
  struct Case {
    std::string place;
    std::function<void(v1::Hello&)> damage;
  };
  const Case cases[] = {
      {"hello.name", [](auto& h) { h.clear_name(); }},
      {"hello.name", [](auto& h) { h.set_name("a b\n"); }},
      {"hello.host", [](auto& h) { h.clear_host(); }},
      {"hello.boot_id", [](auto& h) { h.set_boot_id(std::string(1000, 'x')); }},
      {"hello.device.kind", [](auto& h) { h.mutable_device()->set_kind("tpu"); }},
      {"hello.device.index", [](auto& h) { h.mutable_device()->set_index(-1); }},
      {"hello.device.uuid", [](auto& h) { h.mutable_device()->clear_uuid(); }},
      {"hello.device.memory_bytes", [](auto& h) { h.mutable_device()->set_memory_bytes(0); }},
      {"hello.device.threads", [](auto& h) { h.mutable_device()->set_threads(-1); }},
      {"hello.device.name", [](auto& h) { h.mutable_device()->set_name(std::string(1000, 'x')); }},
      {"hello.held.job", [](auto& h) { h.add_held(); }},
      {"hello.held.site",
       [](auto& h) {
         v1::HeldRank& held = *h.add_held();
         held.set_job("j1");
         held.set_attempt(1);
         held.set_site("a\nb");
       }},
  };
  for (const Case& c : cases) {
    v1::WorkerMessage message;
    v1::Hello& hello = *message.mutable_hello();
    hello.set_name("a/0");
    hello.set_host("a");
    hello.mutable_device()->set_kind("cpu");
    hello.mutable_device()->set_uuid("cpu:a:0");
    hello.mutable_device()->set_memory_bytes(1);
    c.damage(hello);
    const grpc::Status status = EndAfter(site, message);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << c.place;
    EXPECT_EQ(status.error_message().rfind(c.place, 0), 0u) << status.error_message();
  }
}

TEST(MalformedInput, AMessageThatCannotBeReadIsSkippedAndTheStreamGoesOn) {
  TestSite site;
  FakeWorker worker("a/0");
  worker.Connect(site.channel());
  const std::string job = site.Submit("tiny");
  const job::RankKey rank = worker.Start();
  v1::WorkerMessage damaged;
  damaged.mutable_report()->set_job("../j1");
  worker.Send(damaged);
  damaged.mutable_log()->set_job("j1");
  worker.Send(damaged);
  worker.Send(v1::WorkerMessage());
  worker.BeginTraining(rank);
  worker.Report(rank, job::RankMetrics{{{"loss", 0, std::nullopt, std::nullopt, std::nan(""), 1}}});
  worker.WaitForAck(rank, 3);
  worker.Succeed(rank);
  EXPECT_EQ(site.WaitForState(job, "FINISHED").outcome(), "SUCCEEDED");
}

}  // namespace
}  // namespace trainctl::rpc_test
