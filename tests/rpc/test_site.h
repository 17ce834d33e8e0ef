// A coordinator in this process on a port of the kernel's choice, and a client of it. Its folder
// outlives its restarts.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/job/job.h"
#include "proto/trainctl.grpc.pb.h"
#include "server/daemon/daemon.h"
#include "tests/rpc/temporary_folder.h"

namespace trainctl::rpc_test {

// Whatever a test waits for happens long before; it fails otherwise.
inline constexpr std::chrono::seconds kDeadline{60};

// An inspection of 1,000 rows and a model of no size.
std::string InspectionJson();

// A small valid job, and its canonical JSON.
job::JobSpec SmallJob(const std::string& name, int devices = 1);
std::string JobJson(const std::string& name, int devices = 1);

class QuietLog : public coordinator::EventLog {
 public:
  void Write(Level, std::string_view, std::initializer_list<Field>) override {}
};

class TestSite {
 public:
  explicit TestSite(auth::UnixPolicy policy = {}, const auth::UserBounds& bounds = {})
      : policy_(std::move(policy)), bounds_(bounds) {
    Start();
  }
  ~TestSite() { Stop(); }

  void Start();
  void Stop();
  void Restart();
  void RestartWith(auth::UnixPolicy policy);
  // What users may ask for: server/core/policy_file.h.
  void RestartUnder(std::string policy_json);

  std::shared_ptr<grpc::Channel> channel() const { return channel_; }
  v1::Coordinator::Stub& stub() { return *stub_; }
  const std::string& directory() const { return folder_.path(); }
  const std::string& address() const { return daemon_->address(); }
  std::string dashboard() const { return daemon_->dashboard(); }

  // ---- calls with a deadline; those that return a value fail the test where the call fails ----

  // One call: Call(&v1::Coordinator::Stub::List, request, &response).
  template <class Request, class Response>
  grpc::Status Call(grpc::Status (v1::Coordinator::Stub::*method)(grpc::ClientContext*,
                                                                  const Request&, Response*),
                    const Request& request, Response* response) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kDeadline);
    return (stub_.get()->*method)(&context, request, response);
  }
  // The id of a new job, which has been inspected.
  std::string Submit(const job::JobSpec& spec);
  std::string Submit(const std::string& name, int devices = 1) {
    return Submit(SmallJob(name, devices));
  }
  v1::JobDetail Get(const std::string& job);
  // Follows the job until its view satisfies the condition.
  v1::JobView WaitFor(const std::string& job,
                      const std::function<bool(const v1::JobView&)>& condition);
  v1::JobView WaitForState(const std::string& job, const std::string& state);
  std::vector<v1::MetricPoint> Metrics(const std::string& job,
                                       const std::vector<std::string>& names = {});
  // All chunks of a call that ends by itself, joined.
  grpc::Status Logs(const v1::LogsRequest& request, std::string* text);

 private:
  auth::UnixPolicy policy_;
  auth::UserBounds bounds_;
  std::string policy_json_;  // empty: none
  TemporaryFolder folder_;
  base::SystemClock clock_;
  QuietLog log_;
  std::unique_ptr<coordinator::Daemon> daemon_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::Coordinator::Stub> stub_;
};

}  // namespace trainctl::rpc_test
