// The audit log: who asked for which change, from where, and what came of it.
#include <gtest/gtest.h>
#include <unistd.h>

#include "common/peer/socket_owner.h"
#include "server/coordinator/refusal_budget.h"
#include "tests/rpc/fake_worker.h"
#include "tests/rpc/people.h"
#include "tests/rpc/test_site.h"
#include "tests/rpc/user_channel.h"

namespace trainctl::rpc_test {
namespace {

using Lines = std::vector<std::string>;
using Stub = v1::Coordinator::Stub;

class AuditTest : public testing::Test {
 protected:
  // "root: cancel j1, accepted", newest first.
  Lines Log(int64_t limit = 100, int64_t before = 0) {
    v1::AuditRequest request;
    request.set_limit(limit);
    request.set_before(before);
    const grpc::Status status = site_.Call(&Stub::Audit, request, &response_);
    EXPECT_TRUE(status.ok()) << status.error_message();
    Lines lines;
    for (const v1::AuditEntry& entry : response_.entries()) {
      EXPECT_TRUE(entry.address().starts_with("127.0.0.1:")) << entry.ShortDebugString();
      EXPECT_GT(entry.time(), 0);
      std::string line = entry.actor() + ": " + entry.action();
      if (!entry.subject().empty()) line += " " + entry.subject();
      lines.push_back(line + ", " + entry.verdict());
    }
    return lines;
  }
  grpc::Status Cancel(v1::Coordinator::Stub& stub, const std::string& job) {
    grpc::ClientContext context;
    v1::CancelRequest request;
    request.add_jobs(job);
    v1::CancelResponse response;
    return stub.Cancel(&context, request, &response);
  }
  void Fence(const std::string& worker) {
    v1::FenceRequest request;
    request.set_worker(worker);
    v1::FenceResponse response;
    EXPECT_FALSE(site_.Call(&Stub::Fence, request, &response).ok());
  }

  const std::string me_ = peer::UserName(geteuid());
  TestSite site_;
  v1::AuditResponse response_;
};

TEST_F(AuditTest, HasAcceptedAndRefusedChangesAcrossARestart) {
  const std::string job = site_.Submit("tiny");
  ASSERT_TRUE(Cancel(site_.stub(), job).ok());
  Fence("a/0");
  EXPECT_FALSE(Cancel(site_.stub(), "nothing").ok());
  const Lines expected = {me_ + ": cancel nothing, refused: not found",
                          me_ + ": fence a/0, refused: not found", me_ + ": cancel j1, accepted",
                          me_ + ": submit j1, accepted"};
  EXPECT_EQ(Log(), expected);
  site_.Restart();
  EXPECT_EQ(Log(), expected);
}

TEST_F(AuditTest, IsReadInPieces) {
  for (const char* worker : {"a/0", "b/0", "c/0"}) Fence(worker);
  EXPECT_EQ(Log(2), (Lines{me_ + ": fence c/0, refused: not found",
                           me_ + ": fence b/0, refused: not found"}));
  EXPECT_EQ(Log(2, response_.entries(1).id()), (Lines{me_ + ": fence a/0, refused: not found"}));
}

TEST_F(AuditTest, HowMuchOfItIsAskedForIsBounded) {
  for (const int64_t limit : {0, -1, 1001}) {
    v1::AuditRequest request;
    request.set_limit(limit);
    EXPECT_EQ(site_.Call(&Stub::Audit, request, &response_).error_code(),
              grpc::StatusCode::INVALID_ARGUMENT);
  }
}

// With the real stream, store and state between a caller's word and what others see.
TEST_F(AuditTest, ADrainIsOfWhoeverCallsAndHoldsAcrossARestart) {
  FakeWorker worker("a/0");
  worker.Connect(site_.channel());
  v1::DrainRequest drain;
  drain.set_target("a");
  drain.set_reason("a fan is broken");
  v1::DrainResponse response;
  ASSERT_TRUE(site_.Call(&Stub::Drain, drain, &response).ok());
  worker.Disconnect();
  site_.Restart();
  v1::WorkersResponse workers;
  ASSERT_TRUE(site_.Call(&Stub::Workers, v1::WorkersRequest(), &workers).ok());
  ASSERT_EQ(workers.workers_size(), 1);
  EXPECT_EQ(workers.workers(0).drain().user(), me_);
  EXPECT_EQ(workers.workers(0).drain().reason(), "a fan is broken");
  v1::UndrainRequest undrain;
  undrain.set_target("a");
  v1::UndrainResponse ended;
  ASSERT_TRUE(site_.Call(&Stub::Undrain, undrain, &ended).ok());
  EXPECT_EQ(Log(2), (Lines{me_ + ": undrain a, accepted", me_ + ": drain a, accepted"}));
}

TEST_F(AuditTest, WhoReadsChangesNothing) {
  site_.Submit("tiny");
  site_.Get("j1");
  v1::WorkersResponse workers;
  ASSERT_TRUE(site_.Call(&Stub::Workers, v1::WorkersRequest(), &workers).ok());
  EXPECT_EQ(Log().size(), 1u);
}

TEST_F(AuditTest, HasNothingOfAJobFileThatWasRefused) {
  v1::SubmitRequest request;
  request.set_request_id("r");
  request.add_jobs()->set_job_json("{\"secret\": \"hush\"}");
  v1::SubmitResponse response;
  EXPECT_FALSE(site_.Call(&Stub::Submit, request, &response).ok());
  EXPECT_EQ(Log(), (Lines{me_ + ": submit, refused: invalid"}));
}

TEST_F(AuditTest, SaysWhoWasDeniedWhatAndWhy) {
  if (!MayBeOtherUsers()) GTEST_SKIP() << "only root can be several users";
  site_.Submit("tiny");
  const auto anna = v1::Coordinator::NewStub(ChannelAs(kAnna, site_.address()));
  EXPECT_FALSE(Cancel(*anna, "j1").ok());
  FakeWorker stranger("c/0");
  stranger.Knock(ChannelAs(kAnna, site_.address()));
  EXPECT_FALSE(stranger.WaitForEnd().ok());
  const Lines log = Log();
  ASSERT_EQ(log.size(), 3u);
  EXPECT_TRUE(log[0].starts_with("uid:61001: connect, denied: uid:61001 is no worker")) << log[0];
  EXPECT_EQ(log[1],
            "uid:61001: cancel j1, denied: job j1 belongs to root: ask them or an operator");
  grpc::ClientContext context;
  v1::AuditRequest request;
  request.set_limit(1);
  EXPECT_EQ(anna->Audit(&context, request, &response_).error_code(),
            grpc::StatusCode::PERMISSION_DENIED);
}

TEST(RefusalBudget, RecordsSomeOfEachCallerAndCountsTheRest) {
  using coordinator::RefusalBudget;
  RefusalBudget budget;
  for (int64_t i = 0; i < RefusalBudget::kMostOfActor; ++i) EXPECT_TRUE(budget.Take("eve"));
  for (int i = 0; i < 7; ++i) EXPECT_FALSE(budget.Take("eve"));
  EXPECT_TRUE(budget.Take("anna")) << "who is not hidden by another";
  EXPECT_TRUE(budget.OnTick(RefusalBudget::kPeriodMicros - 1).empty());
  const auto unrecorded = budget.OnTick(RefusalBudget::kPeriodMicros);
  ASSERT_EQ(unrecorded.size(), 1u);
  EXPECT_EQ(unrecorded[0].actor, "eve");
  EXPECT_EQ(unrecorded[0].calls, 7);
  EXPECT_TRUE(budget.Take("eve"));
  EXPECT_TRUE(budget.OnTick(2 * RefusalBudget::kPeriodMicros).empty());
}

}  // namespace
}  // namespace trainctl::rpc_test
