#include "tests/rpc/test_site.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>

#include <fstream>
#include <utility>

#include "common/estimate/memory_estimate.h"
#include "common/job/job_json.h"

namespace trainctl::rpc_test {

job::JobSpec SmallJob(const std::string& name, int devices) {
  job::JobSpec spec;
  spec.name = name;
  spec.devices = devices;
  spec.model.path = "/models/tiny";
  spec.data.path = "/data/rows.json";
  spec.train.micro_batch_size = 1;
  spec.resources.priority = 50;  // as it is stored
  return spec;
}

std::string InspectionJson() { return job::ToJson(job::Inspection{.rows = 1000}); }

std::string JobJson(const std::string& name, int devices) {
  return job::ToJson(SmallJob(name, devices));
}

void TestSite::Start() {
  coordinator::Options options;
  options.listen = "127.0.0.1:0";
  options.directory = folder_.path();
  options.address_file = folder_.path() + "/coordinator.addr";
  options.dashboard = "127.0.0.1:0";
  options.dashboard_file = folder_.path() + "/dashboard.addr";
  options.policy = policy_;
  options.bounds = bounds_;
  if (!policy_json_.empty()) {
    options.policy_file = folder_.path() + "/policy.json";
    std::ofstream(options.policy_file) << policy_json_;
  }
  auto daemon = coordinator::Daemon::Start(options, clock_, log_);
  CHECK(daemon.ok()) << daemon.error().message;
  daemon_ = std::move(*daemon);
  channel_ = grpc::CreateChannel(daemon_->address(), grpc::InsecureChannelCredentials());
  stub_ = v1::Coordinator::NewStub(channel_);
}

void TestSite::Stop() { daemon_.reset(); }

void TestSite::Restart() {
  Stop();
  Start();
}

void TestSite::RestartWith(auth::UnixPolicy policy) {
  policy_ = std::move(policy);
  Restart();
}

void TestSite::RestartUnder(std::string policy_json) {
  policy_json_ = std::move(policy_json);
  Restart();
}

std::string TestSite::Submit(const job::JobSpec& spec) {
  v1::SubmitRequest request;
  request.set_request_id("request of " + spec.name);
  request.add_jobs()->set_job_json(job::ToJson(spec));
  request.mutable_jobs(0)->set_inspection_json(InspectionJson());
  v1::SubmitResponse response;
  const grpc::Status status = Call(&v1::Coordinator::Stub::Submit, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response.jobs_size() == 1 ? response.jobs(0).id() : "";
}

v1::JobDetail TestSite::Get(const std::string& job) {
  v1::GetRequest request;
  request.set_job(job);
  v1::GetResponse response;
  const grpc::Status status = Call(&v1::Coordinator::Stub::Get, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response.jobs_size() == 1 ? response.jobs(0) : v1::JobDetail();
}

v1::JobView TestSite::WaitFor(const std::string& job,
                              const std::function<bool(const v1::JobView&)>& condition) {
  v1::WatchRequest request;
  request.add_jobs(job);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kDeadline);
  const auto reader = stub_->Watch(&context, request);
  v1::JobView view;
  while (reader->Read(&view)) {
    if (!condition(view)) continue;
    context.TryCancel();
    reader->Finish();
    return view;
  }
  ADD_FAILURE() << "never came: " << reader->Finish().error_message() << "; the last view was "
                << view.ShortDebugString();
  return view;
}

v1::JobView TestSite::WaitForState(const std::string& job, const std::string& state) {
  return WaitFor(job, [&](const v1::JobView& view) { return view.state() == state; });
}

std::vector<v1::MetricPoint> TestSite::Metrics(const std::string& job,
                                               const std::vector<std::string>& names) {
  v1::MetricsRequest request;
  request.set_job(job);
  for (const std::string& name : names) request.add_names(name);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kDeadline);
  const auto reader = stub_->Metrics(&context, request);
  std::vector<v1::MetricPoint> points;
  v1::MetricsResponse response;
  while (reader->Read(&response))
    points.insert(points.end(), response.points().begin(), response.points().end());
  const grpc::Status status = reader->Finish();
  EXPECT_TRUE(status.ok()) << status.error_message();
  return points;
}

grpc::Status TestSite::Logs(const v1::LogsRequest& request, std::string* text) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kDeadline);
  const auto reader = stub_->Logs(&context, request);
  v1::LogChunk chunk;
  while (reader->Read(&chunk)) *text += chunk.data();
  return reader->Finish();
}

}  // namespace trainctl::rpc_test
