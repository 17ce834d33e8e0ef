// A site's policy file, from the daemon's option to what a client is told.
#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>

#include <fstream>

#include "common/job/job_json.h"
#include "tests/rpc/test_site.h"

namespace trainctl::rpc_test {
namespace {

using testing::HasSubstr;

class PolicyTest : public testing::Test {
 protected:
  base::Result<std::unique_ptr<coordinator::Daemon>> StartWith(const std::string& policy) {
    coordinator::Options options;
    options.listen = "127.0.0.1:0";
    options.directory = folder_.path();
    options.policy_file = folder_.path() + "/policy.json";
    std::ofstream(options.policy_file) << policy;
    return coordinator::Daemon::Start(options, clock_, log_);
  }

  grpc::Status Submit(const coordinator::Daemon& daemon, const job::JobSpec& spec) {
    const auto stub = v1::Coordinator::NewStub(
        grpc::CreateChannel(daemon.address(), grpc::InsecureChannelCredentials()));
    v1::SubmitRequest request;
    request.set_request_id("request of " + spec.name);
    request.set_force(true);
    request.add_jobs()->set_job_json(job::ToJson(spec));
    request.mutable_jobs(0)->set_inspection_json(InspectionJson());
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kDeadline);
    v1::SubmitResponse response;
    return stub->Submit(&context, request, &response);
  }

  base::SystemClock clock_;
  QuietLog log_;
  TemporaryFolder folder_;
};

TEST_F(PolicyTest, AJobThatItsOwnerMayNotAskForIsRefusedWithTheRange) {
  const auto daemon = StartWith(R"({"users": {"*": {"max_priority": 60}}})");
  ASSERT_TRUE(daemon) << daemon.error().message;
  job::JobSpec spec = SmallJob("urgent");
  spec.resources.priority = 61;
  const grpc::Status refused = Submit(**daemon, spec);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(refused.error_message(),
              HasSubstr("resources.priority: 61: expected a priority from 0 to 60"));
  spec.name = "modest";
  spec.resources.priority = 60;
  const grpc::Status taken = Submit(**daemon, spec);
  EXPECT_TRUE(taken.ok()) << taken.error_message();
}

TEST_F(PolicyTest, ACoordinatorDoesNotStartWithAPolicyThatItCantRead) {
  const auto daemon = StartWith(R"({"fair_shar": {}})");
  ASSERT_FALSE(daemon);
  EXPECT_EQ(daemon.error().code, base::Code::kInvalid);
  EXPECT_EQ(daemon.error().message,
            folder_.path() + "/policy.json:1: fair_shar: expected one of users, fair_share; did " +
                "you mean 'fair_share'?");
}

TEST_F(PolicyTest, ACoordinatorStartsAgainWithAFairShare) {
  for (int start = 0; start < 2; ++start) {
    const auto daemon = StartWith(R"({"fair_share": {"half_life": "7d"}})");
    ASSERT_TRUE(daemon) << daemon.error().message;
  }
}

}  // namespace
}  // namespace trainctl::rpc_test
