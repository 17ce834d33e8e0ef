// A site's policy file, from the daemon's option to what a client is told.
#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "common/job/job_json.h"
#include "tests/rpc/fake_worker.h"
#include "tests/rpc/test_site.h"
#include "tests/rpc/user_channel.h"

namespace trainctl::rpc_test {
namespace {

using testing::HasSubstr;

constexpr uid_t kHeavyUser = 61001, kLightUser = 61002;

// The system's clock, ahead by what the test says. Thread-safe.
class MovedClock : public base::SystemClock {
 public:
  base::WallMicros Wall() const override { return SystemClock::Wall() + ahead_; }
  void Move(std::chrono::microseconds by) { ahead_ += by.count(); }

 private:
  std::atomic<int64_t> ahead_ = 0;
};

std::shared_ptr<grpc::Channel> ChannelTo(const coordinator::Daemon& daemon) {
  return grpc::CreateChannel(daemon.address(), grpc::InsecureChannelCredentials());
}

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

  void WaitUntilGone(const std::string& job) {
    const std::string logs = folder_.path() + "/logs/" + job;
    const auto deadline = std::chrono::steady_clock::now() + kDeadline;
    while (std::filesystem::exists(logs) && std::chrono::steady_clock::now() < deadline)
      std::this_thread::yield();
    EXPECT_FALSE(std::filesystem::exists(logs));
  }

  grpc::Status Submit(const std::shared_ptr<grpc::Channel>& channel, const job::JobSpec& spec) {
    const auto stub = v1::Coordinator::NewStub(channel);
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

  // Until the job is FINISHED.
  void WaitForTheEnd(const std::shared_ptr<grpc::Channel>& channel, const std::string& job) {
    v1::WatchRequest request;
    request.add_jobs(job);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kDeadline);
    const auto stub = v1::Coordinator::NewStub(channel);
    const auto reader = stub->Watch(&context, request);
    v1::JobView view;
    while (view.state() != "FINISHED" && reader->Read(&view)) continue;
    EXPECT_EQ(view.state(), "FINISHED");
    context.TryCancel();
    reader->Finish();
  }

  static v1::JobDetail Detail(const std::shared_ptr<grpc::Channel>& channel,
                              const std::string& job) {
    v1::GetRequest request;
    request.set_job(job);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kDeadline);
    v1::GetResponse response;
    const auto stub = v1::Coordinator::NewStub(channel);
    EXPECT_TRUE(stub->Get(&context, request, &response).ok());
    return response.jobs_size() == 1 ? response.jobs(0) : v1::JobDetail();
  }

  MovedClock clock_;
  QuietLog log_;
  TemporaryFolder folder_;
};

TEST_F(PolicyTest, AJobThatItsOwnerMayNotAskForIsRefusedWithTheRange) {
  const auto daemon = StartWith(R"({"users": {"*": {"max_priority": 60}}})");
  ASSERT_TRUE(daemon) << daemon.error().message;
  job::JobSpec spec = SmallJob("urgent");
  spec.resources.priority = 61;
  const grpc::Status refused = Submit(ChannelTo(**daemon), spec);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(refused.error_message(),
              HasSubstr("resources.priority: 61: expected a priority from 0 to 60"));
  spec.name = "modest";
  spec.resources.priority = 60;
  const grpc::Status taken = Submit(ChannelTo(**daemon), spec);
  EXPECT_TRUE(taken.ok()) << taken.error_message();
}

TEST_F(PolicyTest, ACoordinatorDoesNotStartWithAPolicyThatItCantRead) {
  const auto daemon = StartWith(R"({"fair_shar": {}})");
  ASSERT_FALSE(daemon);
  EXPECT_EQ(daemon.error().code, base::Code::kInvalid);
  EXPECT_EQ(daemon.error().message,
            folder_.path() + "/policy.json:1: fair_shar: expected one of users, fair_share, " +
                "preemption, max_queued_jobs, retention; did you mean 'fair_share'?");
}

TEST_F(PolicyTest, ACoordinatorStartsAgainWithAFairShare) {
  for (int start = 0; start < 2; ++start) {
    const auto daemon = StartWith(R"({"fair_share": {"half_life": "7d"}})");
    ASSERT_TRUE(daemon) << daemon.error().message;
  }
}

// The older job waits behind that of a user who has used less.
TEST_F(PolicyTest, ACoordinatorThatStartsAgainKnowsWhatWasUsed) {
  if (!MayBeOtherUsers()) GTEST_SKIP() << "only root can be several users";
  const std::string policy = R"({"fair_share": {"half_life": "7d"}})";
  FakeWorker worker("a/0");
  {
    const auto daemon = StartWith(policy);
    ASSERT_TRUE(daemon) << daemon.error().message;
    worker.Connect(ChannelTo(**daemon));
    const grpc::Status used = Submit(ChannelAs(kHeavyUser, (*daemon)->address()), SmallJob("used"));
    ASSERT_TRUE(used.ok()) << used.error_message();
    const job::RankKey rank = worker.Start();
    clock_.Move(std::chrono::minutes(10));
    worker.Succeed(rank);
    WaitForTheEnd(ChannelTo(**daemon), "j1");
    worker.Disconnect();
  }
  clock_.Move(std::chrono::minutes(2));
  const auto daemon = StartWith(policy);
  ASSERT_TRUE(daemon) << daemon.error().message;
  ASSERT_TRUE(Submit(ChannelAs(kHeavyUser, (*daemon)->address()), SmallJob("older")).ok());
  ASSERT_TRUE(Submit(ChannelAs(kLightUser, (*daemon)->address()), SmallJob("newer")).ok());
  worker.Connect(ChannelTo(**daemon));
  EXPECT_EQ(base::ToString(worker.Start().job), "j3");
  worker.Disconnect();
}

TEST_F(PolicyTest, LogsOfAJobThatEndedLongAgoGoAndWhoAsksIsTold) {
  const std::string policy = R"({"retention": {"logs_after": "1h"}})";
  FakeWorker worker("a/0");
  {
    const auto daemon = StartWith(policy);
    ASSERT_TRUE(daemon) << daemon.error().message;
    worker.Connect(ChannelTo(**daemon));
    ASSERT_TRUE(Submit(ChannelTo(**daemon), SmallJob("old")).ok());
    const job::RankKey rank = worker.Start();
    worker.Log(rank, 0, "step 1\n");
    worker.WaitForLogAck(rank, 7);
    worker.Succeed(rank);
    WaitForTheEnd(ChannelTo(**daemon), "j1");
    clock_.Move(std::chrono::hours(1) - std::chrono::minutes(5));
    worker.SayFree();
    ASSERT_TRUE(Submit(ChannelTo(**daemon), SmallJob("young")).ok());
    const job::RankKey young = worker.Start();
    worker.Log(young, 0, "step 2\n");
    worker.WaitForLogAck(young, 7);
    worker.Succeed(young);
    WaitForTheEnd(ChannelTo(**daemon), "j2");
    EXPECT_EQ(Detail(ChannelTo(**daemon), "j1").logs_removed_at(), 0);
    worker.Disconnect();
  }
  clock_.Move(std::chrono::minutes(10));
  const auto daemon = StartWith(policy);
  ASSERT_TRUE(daemon) << daemon.error().message;
  const auto deadline = std::chrono::steady_clock::now() + kDeadline;
  v1::JobDetail old;
  while (old.logs_removed_at() == 0 && std::chrono::steady_clock::now() < deadline)
    old = Detail(ChannelTo(**daemon), "j1");
  EXPECT_GT(old.logs_removed_at(), old.view().ended_at());
  EXPECT_THAT(old.events(old.events_size() - 1).text(), HasSubstr("its logs were removed"));
  WaitUntilGone("j1");
  EXPECT_TRUE(std::filesystem::exists(folder_.path() + "/logs/j2/1/0.log"));
  EXPECT_EQ(Detail(ChannelTo(**daemon), "j2").logs_removed_at(), 0);

  // What comes late is acknowledged, and not kept.
  FakeWorker late("a/0");
  late.Connect(ChannelTo(**daemon));
  const job::RankKey first{base::JobId{1}, 1, 0}, second{base::JobId{2}, 1, 0};
  late.Log(first, 7, "the end\n");
  late.WaitForLogAck(first, 15);
  late.Log(second, 7, "the end\n");
  late.WaitForLogAck(second, 15);
  EXPECT_FALSE(std::filesystem::exists(folder_.path() + "/logs/j1"));
  EXPECT_EQ(std::filesystem::file_size(folder_.path() + "/logs/j2/1/0.log"), 15u);
}

// What is stored then is that they are removed; the files are there still.
TEST_F(PolicyTest, AKillBeforeTheRemovalOfLogsIsMadeUpFor) {
  const std::string policy = R"({"retention": {"logs_after": "1h"}})";
  {
    FakeWorker worker("a/0");
    const auto daemon = StartWith(policy);
    ASSERT_TRUE(daemon) << daemon.error().message;
    worker.Connect(ChannelTo(**daemon));
    ASSERT_TRUE(Submit(ChannelTo(**daemon), SmallJob("old")).ok());
    worker.Succeed(worker.Start());
    WaitForTheEnd(ChannelTo(**daemon), "j1");
    worker.Disconnect();
  }
  clock_.Move(std::chrono::hours(2));
  {
    const auto daemon = StartWith(policy);
    ASSERT_TRUE(daemon) << daemon.error().message;
    const auto deadline = std::chrono::steady_clock::now() + kDeadline;
    while (Detail(ChannelTo(**daemon), "j1").logs_removed_at() == 0 &&
           std::chrono::steady_clock::now() < deadline)
      continue;
  }
  std::filesystem::create_directories(folder_.path() + "/logs/j1/1");
  std::ofstream(folder_.path() + "/logs/j1/1/0.log") << "step 1\n";
  const auto daemon = StartWith(policy);
  ASSERT_TRUE(daemon) << daemon.error().message;
  WaitUntilGone("j1");
}

// Nobody may unlink in /proc, root neither.
TEST_F(PolicyTest, AJobWhoseLogsCannotBeRemovedHoldsBackNoOther) {
  const std::string policy = R"({"retention": {"logs_after": "1h"}})";
  {
    FakeWorker worker("a/0");
    const auto daemon = StartWith(policy);
    ASSERT_TRUE(daemon) << daemon.error().message;
    worker.Connect(ChannelTo(**daemon));
    for (const std::string job : {"j1", "j2"}) {
      ASSERT_TRUE(Submit(ChannelTo(**daemon), SmallJob("of " + job)).ok());
      const job::RankKey rank = worker.Start();
      worker.Log(rank, 0, "step 1\n");
      worker.WaitForLogAck(rank, 7);
      worker.Succeed(rank);
      WaitForTheEnd(ChannelTo(**daemon), job);
      worker.SayFree();
    }
    worker.Disconnect();
  }
  const std::string stubborn = folder_.path() + "/logs/j1";
  std::filesystem::remove_all(stubborn);
  std::filesystem::create_directory_symlink("/proc/self/fdinfo", stubborn);
  clock_.Move(std::chrono::hours(2));
  const auto daemon = StartWith(policy);
  ASSERT_TRUE(daemon) << daemon.error().message;
  const auto deadline = std::chrono::steady_clock::now() + kDeadline;
  while (Detail(ChannelTo(**daemon), "j2").logs_removed_at() == 0 &&
         std::chrono::steady_clock::now() < deadline)
    continue;
  WaitUntilGone("j2");
  EXPECT_TRUE(std::filesystem::is_symlink(stubborn));
}

}  // namespace
}  // namespace trainctl::rpc_test
