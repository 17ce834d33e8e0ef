// Leases over the real service, core and store.
#include <gtest/gtest.h>
#include <unistd.h>

#include "common/job/job_json.h"
#include "common/peer/socket_owner.h"
#include "tests/rpc/fake_worker.h"
#include "tests/rpc/people.h"
#include "tests/rpc/test_site.h"
#include "tests/rpc/user_channel.h"

namespace trainctl::rpc_test {
namespace {

using Stub = v1::Coordinator::Stub;
using grpc::StatusCode;

constexpr int64_t kHour = 3600;

auth::UnixPolicy LeasePolicy() {
  auth::UnixPolicy policy;
  for (const char* role : {"uid:61003=operator", "uid:61004=viewer"})
    CHECK(auth::AddRole(role, &policy).ok()) << role;
  return policy;
}

v1::CreateLeaseRequest Wish(const std::string& name, int64_t seconds, int64_t start = 0) {
  v1::CreateLeaseRequest request;
  request.set_request_id("request of " + name);
  request.set_name(name);
  request.mutable_wish()->set_devices(1);
  request.mutable_wish()->set_seconds(seconds);
  request.mutable_wish()->set_start(start);
  return request;
}

class LeaseCallTest : public testing::Test {
 protected:
  LeaseCallTest() { worker_.Connect(site_.channel()); }

  StatusCode Create(Stub& stub, const v1::CreateLeaseRequest& request) {
    grpc::ClientContext context;
    v1::CreateLeaseResponse response;
    const grpc::Status status = stub.CreateLease(&context, request, &response);
    if (status.ok()) lease_ = response.lease();
    message_ = status.error_message();
    return status.error_code();
  }
  StatusCode Extend(Stub& stub, const std::string& name, int64_t seconds, int64_t end_was = 0) {
    grpc::ClientContext context;
    v1::ExtendLeaseRequest request;
    request.set_name(name);
    request.set_seconds(seconds);
    request.set_end_was(end_was);
    v1::ExtendLeaseResponse response;
    const grpc::Status status = stub.ExtendLease(&context, request, &response);
    if (status.ok()) lease_ = response.lease();
    message_ = status.error_message();
    return status.error_code();
  }
  StatusCode Delete(Stub& stub, const std::string& name) {
    grpc::ClientContext context;
    v1::DeleteLeaseRequest request;
    request.set_name(name);
    v1::DeleteLeaseResponse response;
    const grpc::Status status = stub.DeleteLease(&context, request, &response);
    message_ = status.error_message();
    return status.error_code();
  }
  v1::LeasesResponse Leases() {
    v1::LeasesResponse response;
    EXPECT_TRUE(site_.Call(&Stub::Leases, v1::LeasesRequest(), &response).ok());
    return response;
  }
  std::unique_ptr<Stub> As(uid_t user) {
    return v1::Coordinator::NewStub(ChannelAs(user, site_.address()));
  }
  StatusCode SubmitUnder(Stub& stub, const std::string& lease) {
    job::JobSpec spec = SmallJob("under-" + lease);
    spec.resources.lease = lease;
    v1::SubmitRequest request;
    request.set_request_id("submission " + std::to_string(++submissions_));
    request.add_jobs()->set_job_json(job::ToJson(spec));
    request.mutable_jobs(0)->set_inspection_json(InspectionJson());
    grpc::ClientContext context;
    v1::SubmitResponse response;
    const grpc::Status status = stub.Submit(&context, request, &response);
    if (status.ok()) job_ = response.jobs(0).id();
    message_ = status.error_message();
    return status.error_code();
  }

  TestSite site_{LeasePolicy()};
  FakeWorker worker_{"a/0"};
  v1::Lease lease_;
  std::string message_, job_;
  int submissions_ = 0;
};

TEST_F(LeaseCallTest, ALeaseIsMadeOnceAndKeptOverARestart) {
  ASSERT_EQ(Create(site_.stub(), Wish("lab", kHour)), StatusCode::OK) << message_;
  EXPECT_EQ(lease_.state(), "ACTIVE");
  EXPECT_EQ(lease_.workers(0), "a/0");
  EXPECT_EQ(lease_.end() - lease_.start(), kHour * 1'000'000);
  EXPECT_EQ(Create(site_.stub(), Wish("lab", kHour)), StatusCode::OK) << "the same request again";
  EXPECT_EQ(Leases().leases_size(), 1);
  worker_.Disconnect();
  site_.Restart();
  const v1::LeasesResponse kept = Leases();
  ASSERT_EQ(kept.leases_size(), 1);
  EXPECT_EQ(kept.leases(0).owner(), peer::UserName(geteuid()));
  EXPECT_EQ(kept.leases(0).end(), lease_.end());
  EXPECT_EQ(kept.leases(0).state(), "ACTIVE");
}

TEST_F(LeaseCallTest, AnExtensionThatIsSaidTwiceIsMadeOnce) {
  ASSERT_EQ(Create(site_.stub(), Wish("lab", kHour)), StatusCode::OK) << message_;
  const int64_t end = lease_.end(), longer = end + kHour * 1'000'000;
  for (const char* time : {"first", "again"}) {
    EXPECT_EQ(Extend(site_.stub(), "lab", kHour, end), StatusCode::OK) << time << message_;
    EXPECT_EQ(lease_.end(), longer) << time;
  }
  EXPECT_EQ(Extend(site_.stub(), "lab", 2 * kHour, end), StatusCode::FAILED_PRECONDITION);
  EXPECT_NE(message_.find("lease 'lab' of "), std::string::npos) << message_;
  EXPECT_NE(message_.find(", no longer "), std::string::npos) << message_;
  EXPECT_EQ(Leases().leases(0).end(), longer);
  EXPECT_EQ(Extend(site_.stub(), "lab", kHour, longer), StatusCode::OK) << message_;
  EXPECT_EQ(lease_.end(), longer + kHour * 1'000'000);
}

TEST_F(LeaseCallTest, ADeviceThatIsTakenFromALeaseIsSaidWithBoth) {
  ASSERT_EQ(Create(site_.stub(), Wish("lab", kHour)), StatusCode::OK) << message_;
  ASSERT_EQ(Leases().leases(0).devices_size(), 1);
  EXPECT_EQ(Leases().leases(0).devices(0).worker(), "a/0");
  EXPECT_EQ(Leases().leases(0).devices(0).trouble(), "");
  v1::DrainRequest drain;
  drain.set_target("a");
  v1::DrainResponse drained;
  ASSERT_TRUE(site_.Call(&Stub::Drain, drain, &drained).ok());
  ASSERT_EQ(drained.leases_size(), 1);
  EXPECT_EQ(drained.leases(0).name(), "lab");
  EXPECT_TRUE(Leases().leases(0).devices(0).trouble().starts_with("DRAINED by "));
  worker_.Disconnect();
  site_.Restart();
  v1::RemoveWorkerRequest remove;
  remove.set_worker("a/0");
  v1::RemoveWorkerResponse removed;
  ASSERT_TRUE(site_.Call(&Stub::RemoveWorker, remove, &removed).ok());
  ASSERT_EQ(removed.leases_size(), 1);
  EXPECT_EQ(removed.leases(0).name(), "lab");
  EXPECT_EQ(Leases().leases(0).devices(0).trouble(), "removed");
}

TEST_F(LeaseCallTest, NoDeviceIsPromisedTwice) {
  ASSERT_EQ(Create(site_.stub(), Wish("lab", kHour)), StatusCode::OK) << message_;
  EXPECT_EQ(Create(site_.stub(), Wish("other", kHour)), StatusCode::FAILED_PRECONDITION);
  EXPECT_NE(message_.find("lease 'lab'"), std::string::npos) << message_;
  ASSERT_EQ(Create(site_.stub(), Wish("next", kHour, lease_.end())), StatusCode::OK) << message_;
  EXPECT_EQ(lease_.state(), "UPCOMING");
  EXPECT_EQ(Extend(site_.stub(), "lab", kHour), StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(Extend(site_.stub(), "next", kHour), StatusCode::OK) << message_;
  v1::FindLeaseRequest find;
  *find.mutable_wish() = Wish("", kHour).wish();
  v1::FindLeaseResponse block;
  ASSERT_TRUE(site_.Call(&Stub::FindLease, find, &block).ok());
  EXPECT_GE(block.start(), lease_.end());
}

TEST_F(LeaseCallTest, WhatNobodyCanLeaseIsRefused) {
  EXPECT_EQ(Create(site_.stub(), Wish("long", 25 * kHour)), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Create(site_.stub(), Wish("short", 1)), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Create(site_.stub(), Wish("negative", -1)), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Create(site_.stub(), Wish("past", kHour, 1)), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Create(site_.stub(), Wish("a b", kHour)), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Create(site_.stub(), Wish("3h", kHour)), StatusCode::INVALID_ARGUMENT);
  v1::CreateLeaseRequest wide = Wish("wide", kHour);
  wide.mutable_wish()->set_devices(2);
  EXPECT_EQ(Create(site_.stub(), wide), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Extend(site_.stub(), "none", kHour), StatusCode::NOT_FOUND);
  EXPECT_EQ(Leases().leases_size(), 0);
}

TEST_F(LeaseCallTest, AJobUnderALeaseRunsAndEndsWithIt) {
  ASSERT_EQ(Create(site_.stub(), Wish("lab", kHour)), StatusCode::OK) << message_;
  ASSERT_EQ(SubmitUnder(site_.stub(), "lab"), StatusCode::OK) << message_;
  const std::string around = site_.Submit("around");
  const job::RankKey key = worker_.Start();
  EXPECT_EQ(base::ToString(key.job), job_);
  EXPECT_EQ(Leases().leases(0).jobs(0).id(), job_);
  EXPECT_NE(site_.Get(around).view().reason().find("lease 'lab'"), std::string::npos)
      << site_.Get(around).view().reason();
  ASSERT_EQ(Delete(site_.stub(), "lab"), StatusCode::OK) << message_;
  worker_.Report(key, job::RankExit{.signal = 15});
  worker_.SayFree();
  EXPECT_EQ(site_.WaitForState(job_, "FINISHED").outcome(), "LEASE_ENDED");
  EXPECT_EQ(SubmitUnder(site_.stub(), "lab"), StatusCode::INVALID_ARGUMENT);
}

TEST_F(LeaseCallTest, OnlyItsOwnerAndOperatorsUseItAndChangeIt) {
  if (!MayBeOtherUsers()) GTEST_SKIP() << "only root can be several users";
  const auto anna = As(kAnna), bob = As(kBob), ops = As(kOps), viewer = As(kViewer);
  EXPECT_EQ(Create(*viewer, Wish("seen", kHour)), StatusCode::PERMISSION_DENIED);
  ASSERT_EQ(Create(*anna, Wish("hers", kHour)), StatusCode::OK) << message_;
  EXPECT_EQ(lease_.owner(), "uid:61001");
  EXPECT_EQ(Create(*bob, Wish("hers", kHour)), StatusCode::PERMISSION_DENIED)
      << "the same request id is hers";
  EXPECT_EQ(Extend(*bob, "hers", kHour), StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(message_, "lease 'hers' belongs to uid:61001: ask them or an operator");
  EXPECT_EQ(Delete(*bob, "hers"), StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(SubmitUnder(*bob, "hers"), StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(Extend(*viewer, "hers", kHour), StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(Extend(*anna, "hers", kHour), StatusCode::OK) << message_;
  EXPECT_EQ(SubmitUnder(*anna, "hers"), StatusCode::OK) << message_;
  EXPECT_EQ(Extend(*ops, "hers", kHour), StatusCode::OK) << message_;
  EXPECT_EQ(Delete(*ops, "hers"), StatusCode::OK) << message_;
  v1::AuditRequest request;
  request.set_limit(3);
  v1::AuditResponse audit;
  ASSERT_TRUE(site_.Call(&Stub::Audit, request, &audit).ok());
  EXPECT_EQ(
      audit.entries(0).actor() + " " + audit.entries(0).action() + " " + audit.entries(0).subject(),
      "uid:61003 unlease hers");
}

}  // namespace
}  // namespace trainctl::rpc_test
