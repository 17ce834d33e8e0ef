// The bound on how often a user calls, over the real ports: what a client and a browser are told,
// and what trainctl makes of it.
#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>

#include "client/grpc_api.h"
#include "common/peer/socket_owner.h"
#include "tests/rpc/fake_worker.h"
#include "tests/rpc/people.h"
#include "tests/rpc/test_site.h"
#include "tests/rpc/user_channel.h"
#include "tests/web/http_client.h"

namespace trainctl::rpc_test {
namespace {

using testing::HasSubstr;

// Of the time by which buckets fill the test alone decides. Thread-safe.
class StandingClock : public base::SystemClock {
 public:
  base::SteadyMicros Steady() const override { return now_; }
  void Advance(int64_t micros) { now_ += micros; }

 private:
  std::atomic<int64_t> now_ = 1'000'000'000;
};

class CallRateTest : public testing::Test {
 protected:
  std::unique_ptr<coordinator::Daemon> Start(const base::Clock& clock, const std::string& bounds) {
    coordinator::Options options;
    options.listen = options.dashboard = "127.0.0.1:0";
    options.directory = folder_.path();
    options.policy_file = folder_.path() + "/policy.json";
    std::ofstream(options.policy_file) << R"({"users": {"*": {)" << bounds << "}}}";
    auto daemon = coordinator::Daemon::Start(options, clock, log_);
    CHECK(daemon.ok()) << daemon.error().message;
    return std::move(*daemon);
  }

  static std::shared_ptr<grpc::Channel> ChannelTo(const coordinator::Daemon& daemon) {
    return grpc::CreateChannel(daemon.address(), grpc::InsecureChannelCredentials());
  }

  static grpc::Status List(const std::shared_ptr<grpc::Channel>& channel) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kDeadline);
    v1::ListResponse response;
    return v1::Coordinator::NewStub(channel)->List(&context, v1::ListRequest(), &response);
  }

  // How a stream of a job that is not there ends.
  static grpc::Status Watch(const std::shared_ptr<grpc::Channel>& channel) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kDeadline);
    v1::WatchRequest request;
    request.add_jobs("nobody");
    v1::JobView view;
    const auto stub = v1::Coordinator::NewStub(channel);
    const auto reader = stub->Watch(&context, request);
    EXPECT_FALSE(reader->Read(&view));
    return reader->Finish();
  }

  QuietLog log_;
  TemporaryFolder folder_;
};

TEST_F(CallRateTest, CallsStreamsAndPagesOfAUserAreCountedTogether) {
  StandingClock clock;
  const auto daemon = Start(clock, R"("max_calls_per_second": 10, "max_call_burst": 3)");
  const auto channel = ChannelTo(*daemon);
  EXPECT_EQ(List(channel).error_code(), grpc::StatusCode::OK);
  EXPECT_EQ(Watch(channel).error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(web_test::Get(daemon->dashboard(), "/").status, 200);

  const grpc::Status refused = List(channel);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(refused.error_message(),
              HasSubstr(peer::UserName(geteuid()) +
                        " calls too often: 10 calls a second are taken, 3 at once "));
  EXPECT_THAT(refused.error_message(), HasSubstr("try again in 100 ms"));
  EXPECT_EQ(Watch(channel).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  const web_test::Reply page = web_test::Get(daemon->dashboard(), "/");
  EXPECT_EQ(page.status, 429);
  EXPECT_THAT(page.body, HasSubstr("try again in 100 ms"));

  clock.Advance(200'000);
  EXPECT_EQ(List(channel).error_code(), grpc::StatusCode::OK);
  EXPECT_THAT(web_test::Get(daemon->dashboard(), "/metrics").body,
              HasSubstr("\ntrainctl_calls_refused_total 3\n"));
}

TEST_F(CallRateTest, OtherUsersAndWorkersAreServedWhileOneFloods) {
  StandingClock clock;
  const auto daemon = Start(clock, R"("max_calls_per_second": 1, "max_call_burst": 2)");
  const auto channel = ChannelTo(*daemon);
  for (int call = 0; call < 5; ++call) List(channel);
  EXPECT_EQ(List(channel).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  FakeWorker worker("a/0");
  worker.Connect(channel);
  if (!MayBeOtherUsers()) GTEST_SKIP() << "only root can be several users";
  EXPECT_EQ(List(ChannelAs(kAnna, daemon->address())).error_code(), grpc::StatusCode::OK);
}

TEST_F(CallRateTest, TrainctlComesAgainWhenItIsTold) {
  const base::SystemClock clock;
  const auto daemon = Start(clock, R"("max_calls_per_second": 4, "max_call_burst": 1)");
  const auto api = client::ConnectGrpc({.address = daemon->address()});
  for (int call = 0; call < 2; ++call) {
    const auto listed = api->List(v1::ListRequest());
    EXPECT_TRUE(listed) << listed.error().message;
  }
  v1::WatchRequest request;
  request.add_jobs("nobody");
  const auto watched = api->Watch(request, 60, [](const v1::JobView&) { return true; });
  ASSERT_FALSE(watched);
  EXPECT_EQ(watched.error().code, base::Code::kNotFound) << watched.error().message;
}

}  // namespace
}  // namespace trainctl::rpc_test
