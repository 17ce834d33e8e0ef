// What client tests believe of a coordinator: each test is answered by the fake of tests/client and
// by the real coordinator over gRPC.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/all_jobs.h"
#include "client/grpc_api.h"
#include "tests/client/fake_coordinator.h"
#include "tests/rpc/fake_worker.h"
#include "tests/rpc/tls_site.h"

namespace trainctl::rpc_test {
namespace {

enum class Side { kFake, kReal };

constexpr int64_t kHourSeconds = 3600, kMicros = 1'000'000;

class ApiContract : public testing::TestWithParam<Side> {
 protected:
  ApiContract() {
    if (GetParam() == Side::kFake) {
      fake_.leases.set_now(base::SystemClock().Wall());
      api_ = std::make_unique<client::FakeApi>(&fake_);
    } else {
      site_.emplace();
      api_ = client::ConnectGrpc({.address = site_->local()});
    }
  }

  void AddWorkers(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      if (site_) {
        workers_.emplace_back(name).Connect(site_->LocalChannel());
      } else {
        fake_.workers.push_back(client::CpuWorker(name, "READY"));
      }
    }
  }

  v1::WorkerView Worker(const std::string& name) {
    const base::Result<v1::WorkersResponse> site = api_->Workers();
    EXPECT_TRUE(site.ok());
    if (!site.ok()) return {};
    const auto found = std::ranges::find(site->workers(), name, &v1::WorkerView::name);
    EXPECT_NE(found, site->workers().end()) << name;
    return found == site->workers().end() ? v1::WorkerView() : *found;
  }

  static v1::LeaseWish Wish(int64_t devices, int64_t seconds, int64_t start = 0) {
    v1::LeaseWish wish;
    wish.set_devices(devices);
    wish.set_seconds(seconds);
    wish.set_start(start);
    return wish;
  }

  base::Result<v1::CreateLeaseResponse> Lease(const std::string& name, const v1::LeaseWish& wish,
                                              const std::string& request_id = "") {
    v1::CreateLeaseRequest request;
    request.set_request_id(request_id.empty() ? "lease " + std::to_string(++leased_) : request_id);
    request.set_name(name);
    *request.mutable_wish() = wish;
    return api_->CreateLease(request);
  }

  base::Result<v1::ExtendLeaseResponse> Extend(const std::string& name, int64_t seconds,
                                               int64_t end_was = 0) {
    v1::ExtendLeaseRequest request;
    request.set_end_was(end_was);
    request.set_name(name);
    request.set_seconds(seconds);
    return api_->ExtendLease(request);
  }

  base::Result<v1::DeleteLeaseResponse> Unlease(const std::string& name) {
    v1::DeleteLeaseRequest request;
    request.set_name(name);
    return api_->DeleteLease(request);
  }

  std::vector<std::string> LeaseNames() {
    std::vector<std::string> names;
    const base::Result<v1::LeasesResponse> leases = api_->Leases();
    EXPECT_TRUE(leases.ok());
    if (!leases.ok()) return names;
    for (const v1::Lease& lease : leases->leases()) names.push_back(lease.name());
    return names;
  }

  base::Result<v1::DrainResponse> Drain(const std::string& target, const std::string& reason = "") {
    v1::DrainRequest request;
    request.set_target(target);
    request.set_reason(reason);
    return api_->Drain(request);
  }

  base::Result<v1::UndrainResponse> Undrain(const std::string& target) {
    v1::UndrainRequest request;
    request.set_target(target);
    return api_->Undrain(request);
  }

  base::Result<v1::CreateTokenResponse> MakeToken(const std::string& owner, const std::string& role,
                                                  int64_t seconds) {
    v1::CreateTokenRequest request;
    request.set_owner(owner);
    request.set_role(role);
    request.set_seconds(seconds);
    return api_->CreateToken(request);
  }

  std::vector<int64_t> TokenIds() {
    std::vector<int64_t> ids;
    const base::Result<v1::ListTokensResponse> tokens = api_->ListTokens();
    EXPECT_TRUE(tokens.ok());
    if (!tokens.ok()) return ids;
    for (const v1::Token& token : tokens->tokens()) ids.push_back(token.id());
    return ids;
  }

  base::Result<v1::SubmitResponse> Submit(const std::string& request_id,
                                          const std::vector<std::string>& names,
                                          const std::string& group = "") {
    v1::SubmitRequest request;
    request.set_request_id(request_id);
    request.set_group_name(group);
    for (const std::string& name : names) {
      v1::JobSubmission& job = *request.add_jobs();
      job.set_job_json(JobJson(name));
      job.set_inspection_json(InspectionJson());
    }
    return api_->Submit(request);
  }

  base::Result<v1::GetResponse> Get(const std::string& name) {
    v1::GetRequest request;
    request.set_job(name);
    return api_->Get(request);
  }

  // Names of the jobs that it lists.
  std::vector<std::string> List(const v1::ListRequest& request) {
    std::vector<std::string> names;
    const base::Result<v1::ListResponse> listed = api_->List(request);
    EXPECT_TRUE(listed.ok());
    if (!listed.ok()) return names;
    for (const v1::JobView& job : listed->jobs()) names.push_back(job.name());
    std::ranges::sort(names);
    return names;
  }

  static base::Code CodeOf(const auto& result) {
    EXPECT_FALSE(result.ok());
    return result.ok() ? base::Code::kInternal : result.error().code;
  }

  client::FakeCoordinator fake_;
  std::optional<TlsSite> site_;
  std::deque<FakeWorker> workers_;  // of the real one
  std::unique_ptr<client::Api> api_;
  int leased_ = 0;
};

TEST_P(ApiContract, ARepeatedRequestIsAnsweredAsTheFirstAndMakesNothing) {
  const auto first = Submit("r1", {"a", "b"}, "lab"), again = Submit("r1", {"a", "b"}, "lab");
  ASSERT_TRUE(first.ok() && again.ok());
  EXPECT_EQ(first->group(), "g1");
  ASSERT_EQ(first->jobs_size(), 2);
  EXPECT_EQ(first->jobs(0).id(), "j1");
  EXPECT_EQ(first->jobs(1).name(), "b");
  ASSERT_EQ(again->jobs_size(), 2);
  EXPECT_EQ(again->jobs(1).id(), first->jobs(1).id());
  EXPECT_EQ(List({}), (std::vector<std::string>{"a", "b"}));
}

TEST_P(ApiContract, AWordIsAnIdOrAGroupOrTheNewestOfAName) {
  ASSERT_TRUE(Submit("r1", {"twin"}).ok() && Submit("r2", {"twin"}).ok());
  ASSERT_TRUE(Submit("r3", {"a", "b"}, "lab").ok());
  const auto id_of = [this](const std::string& word) {
    const auto found = Get(word);
    return found.ok() && found->jobs_size() == 1 ? found->jobs(0).view().id() : "";
  };
  EXPECT_EQ(id_of("twin"), "j2");
  EXPECT_EQ(id_of("j1"), "j1");
  for (const char* word : {"g1", "lab"}) {
    const auto group = Get(word);
    ASSERT_TRUE(group.ok()) << word;
    EXPECT_EQ(group->jobs_size(), 2);
    EXPECT_EQ(group->group(), "g1");
    EXPECT_EQ(group->group_name(), "lab");
  }
  EXPECT_EQ(Get("a")->group(), "") << "a job of a group is asked for alone";
}

TEST_P(ApiContract, ListsHaveWhatWasAskedFor) {
  ASSERT_TRUE(Submit("r1", {"a", "b"}, "lab").ok() && Submit("r2", {"c"}).ok());
  v1::ListRequest by_name, by_state, few;
  by_name.add_names("lab");
  by_state.add_states("RUNNING");
  few.set_limit(1);
  EXPECT_EQ(List(by_name), (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(List(by_state).empty());
  EXPECT_EQ(List(few).size(), 1u);
  v1::JobView view = Get("c")->jobs(0).view();
  EXPECT_EQ(view.state(), "QUEUED");
}

TEST_P(ApiContract, AListComesInPagesNewestFirst) {
  ASSERT_TRUE(Submit("r1", {"a", "b", "c"}, "lab").ok());
  v1::ListRequest request;
  request.set_limit(2);
  const auto page = [&] {
    const base::Result<v1::ListResponse> listed = api_->List(request);
    std::string ids;
    for (const v1::JobView& job : listed.value().jobs()) ids += job.id() + " ";
    return ids + (listed->more() ? "and more" : "");
  };
  EXPECT_EQ(page(), "j3 j2 and more");
  request.set_before("j2");
  EXPECT_EQ(page(), "j1 ");
  request.set_before("j3");
  EXPECT_EQ(page(), "j2 j1 ") << "a page that is just full";
  const base::Result<std::vector<v1::JobView>> all = client::ListAllJobs(*api_, v1::ListRequest());
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all->size(), 3u);
}

TEST_P(ApiContract, WhatIsNotThereIsNotFound) {
  const auto with = [](auto request, auto set) {
    set(request);
    return request;
  };
  const auto names_no_job = [](auto& request) { request.add_jobs("j9"); };
  EXPECT_EQ(CodeOf(Get("j9")), base::Code::kNotFound);
  EXPECT_EQ(CodeOf(api_->Cancel(with(v1::CancelRequest(), names_no_job))), base::Code::kNotFound);
  EXPECT_EQ(CodeOf(api_->Remove(with(v1::RemoveRequest(), names_no_job))), base::Code::kNotFound);
  EXPECT_EQ(CodeOf(api_->RemoveOutputs(
                with(v1::RemoveOutputsRequest(), [](auto& r) { r.set_job("j9"); }))),
            base::Code::kNotFound);
  EXPECT_EQ(CodeOf(api_->Compare(with(v1::CompareRequest(), names_no_job))), base::Code::kNotFound);
  EXPECT_EQ(CodeOf(api_->Fence(with(v1::FenceRequest(), [](auto& r) { r.set_worker("a/9"); }))),
            base::Code::kNotFound);
  EXPECT_EQ(CodeOf(api_->Drain(with(v1::DrainRequest(), [](auto& r) { r.set_target("a/9"); }))),
            base::Code::kNotFound);
  EXPECT_EQ(CodeOf(api_->Undrain(with(v1::UndrainRequest(), [](auto& r) { r.set_target("a/9"); }))),
            base::Code::kNotFound);
  EXPECT_EQ(CodeOf(api_->ExtendLease(with(v1::ExtendLeaseRequest(),
                                          [](auto& r) {
                                            r.set_name("none");
                                            r.set_seconds(60);
                                          }))),
            base::Code::kNotFound);
  EXPECT_EQ(CodeOf(api_->DeleteLease(
                with(v1::DeleteLeaseRequest(), [](auto& r) { r.set_name("none"); }))),
            base::Code::kNotFound);
}

TEST_P(ApiContract, AJobThatHasNotEndedIsNotRemoved) {
  ASSERT_TRUE(Submit("r1", {"a"}).ok());
  v1::RemoveRequest request;
  request.add_jobs("j1");
  EXPECT_EQ(CodeOf(api_->Remove(request)), base::Code::kConflict);
  v1::RemoveOutputsRequest with_files;
  with_files.set_job("j1");
  EXPECT_EQ(CodeOf(api_->RemoveOutputs(with_files)), base::Code::kConflict);
}

TEST_P(ApiContract, ALeaseIsMadeOnceAndListedUntilItIsDeleted) {
  AddWorkers({"a/0", "a/1"});
  const auto made = Lease("lab", Wish(2, kHourSeconds), "r1");
  ASSERT_TRUE(made.ok()) << made.error().message;
  const v1::Lease& lease = made->lease();
  EXPECT_EQ(lease.name(), "lab");
  EXPECT_EQ(lease.state(), "ACTIVE");
  EXPECT_FALSE(lease.owner().empty());
  EXPECT_EQ(lease.end() - lease.start(), kHourSeconds * kMicros);
  EXPECT_EQ(std::vector<std::string>(lease.workers().begin(), lease.workers().end()),
            (std::vector<std::string>{"a/0", "a/1"}));
  const auto again = Lease("lab", Wish(2, kHourSeconds), "r1");
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again->lease().end(), lease.end());
  EXPECT_EQ(LeaseNames(), std::vector<std::string>{"lab"});
  EXPECT_GE(api_->Leases()->now(), lease.start());
  const auto drained = Drain("a/1");
  ASSERT_TRUE(drained.ok()) << drained.error().message;
  ASSERT_EQ(drained->leases_size(), 1);
  EXPECT_EQ(drained->leases(0).name(), "lab");
  const auto deleted = Unlease("lab");
  ASSERT_TRUE(deleted.ok()) << deleted.error().message;
  EXPECT_EQ(deleted->lease().name(), "lab");
  EXPECT_TRUE(LeaseNames().empty());
  EXPECT_EQ(CodeOf(Unlease("lab")), base::Code::kNotFound);
}

TEST_P(ApiContract, NoDeviceIsLeasedTwiceAtOneTime) {
  AddWorkers({"a/0"});
  const auto first = Lease("first", Wish(1, kHourSeconds));
  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_EQ(CodeOf(Lease("first", Wish(1, kHourSeconds))), base::Code::kConflict) << "the name";
  EXPECT_EQ(CodeOf(Lease("other", Wish(1, kHourSeconds))), base::Code::kConflict);
  const auto next = Lease("next", Wish(1, kHourSeconds, first->lease().end()));
  ASSERT_TRUE(next.ok()) << next.error().message;
  EXPECT_EQ(next->lease().state(), "UPCOMING");
  EXPECT_EQ(next->lease().start(), first->lease().end());
  EXPECT_EQ(CodeOf(Extend("first", kHourSeconds)), base::Code::kConflict);
  EXPECT_EQ(CodeOf(Extend("next", 0)), base::Code::kInvalid);
  const auto longer = Extend("next", kHourSeconds);
  ASSERT_TRUE(longer.ok()) << longer.error().message;
  EXPECT_EQ(longer->lease().end() - next->lease().end(), kHourSeconds * kMicros);
  const auto again = Extend("next", kHourSeconds, next->lease().end());
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again->lease().end(), longer->lease().end()) << "it was extended so before";
  EXPECT_EQ(CodeOf(Extend("next", 1, next->lease().end())), base::Code::kConflict);
  v1::FindLeaseRequest find;
  *find.mutable_wish() = Wish(1, kHourSeconds);
  const auto block = api_->FindLease(find);
  ASSERT_TRUE(block.ok()) << block.error().message;
  EXPECT_GE(block->start(), longer->lease().end());
  EXPECT_EQ(block->workers_size(), 1);
}

TEST_P(ApiContract, WhatNobodyCanLeaseIsInvalid) {
  AddWorkers({"a/0"});
  EXPECT_EQ(CodeOf(Lease("wide", Wish(2, kHourSeconds))), base::Code::kInvalid);
  EXPECT_EQ(CodeOf(Lease("short", Wish(1, 1))), base::Code::kInvalid);
  EXPECT_EQ(CodeOf(Lease("long", Wish(1, 25 * kHourSeconds))), base::Code::kInvalid);
  EXPECT_EQ(CodeOf(Lease("past", Wish(1, kHourSeconds, 1))), base::Code::kInvalid);
  EXPECT_EQ(CodeOf(Lease("two words", Wish(1, kHourSeconds))), base::Code::kInvalid);
  EXPECT_EQ(CodeOf(Lease("3h", Wish(1, kHourSeconds))), base::Code::kInvalid);
  v1::FindLeaseRequest wide;
  *wide.mutable_wish() = Wish(2, kHourSeconds);
  EXPECT_EQ(CodeOf(api_->FindLease(wide)), base::Code::kInvalid);
  EXPECT_TRUE(LeaseNames().empty());
  const auto unnamed = Lease("", Wish(1, kHourSeconds));
  ASSERT_TRUE(unnamed.ok()) << unnamed.error().message;
  EXPECT_EQ(unnamed->lease().name(), "lease-1");
}

TEST_P(ApiContract, ADrainIsOfADeviceOrAHostUntilItsEnd) {
  AddWorkers({"a/0", "a/1", "b/0"});
  const auto drained = Drain("a", "a fan is broken");
  ASSERT_TRUE(drained.ok()) << drained.error().message;
  EXPECT_TRUE(drained->jobs().empty());
  EXPECT_EQ(Worker("a/1").state(), "DRAINED");
  EXPECT_EQ(Worker("a/1").drain().target(), "a");
  EXPECT_EQ(Worker("a/1").drain().reason(), "a fan is broken");
  EXPECT_EQ(Worker("b/0").state(), "READY");
  EXPECT_FALSE(Worker("b/0").has_drain());
  EXPECT_EQ(CodeOf(Undrain("a/0")), base::Code::kConflict) << "its host is drained as a whole";
  const auto ended = Undrain("a");
  ASSERT_TRUE(ended.ok()) << ended.error().message;
  ASSERT_EQ(ended->ended_size(), 1);
  EXPECT_TRUE(ended->ended(0).starts_with("the drain of a")) << ended->ended(0);
  EXPECT_TRUE(ended->kept().empty());
  EXPECT_EQ(Worker("a/1").state(), "READY");
  EXPECT_FALSE(Worker("a/1").has_drain());
  const auto nothing = Undrain("a");
  ASSERT_TRUE(nothing.ok()) << nothing.error().message;
  EXPECT_TRUE(nothing->ended().empty());
}

TEST_P(ApiContract, WhatWaitsForADrainedHostIsToldTheHost) {
  AddWorkers({"a/0", "a/1"});
  ASSERT_TRUE(Drain("a", "a fan is broken").ok());
  ASSERT_TRUE(Submit("r1", {"tiny"}).ok());
  const auto waiting = Get("tiny");
  ASSERT_TRUE(waiting.ok()) << waiting.error().message;
  const v1::Wait& wait = waiting->jobs(0).wait();
  ASSERT_EQ(wait.hindrances_size(), 2);
  for (const v1::Hindrance& hindrance : wait.hindrances()) {
    EXPECT_EQ(hindrance.state(), "DRAINED");
    EXPECT_EQ(hindrance.drain(), "a");
  }
}

TEST_P(ApiContract, AHostsUndrainEndsThoseOfItsDevices) {
  AddWorkers({"a/0", "a/1"});
  EXPECT_EQ(CodeOf(Drain("a/0", "two\nlines")), base::Code::kInvalid);
  ASSERT_TRUE(Drain("a/0").ok());
  EXPECT_EQ(Worker("a/0").state(), "DRAINED");
  EXPECT_EQ(Worker("a/1").state(), "READY");
  const auto ended = Undrain("a");
  ASSERT_TRUE(ended.ok()) << ended.error().message;
  ASSERT_EQ(ended->ended_size(), 1);
  EXPECT_TRUE(ended->ended(0).starts_with("the drain of a/0")) << ended->ended(0);
  EXPECT_EQ(Worker("a/0").state(), "READY");
}

TEST_P(ApiContract, ATokenIsListedWithoutItsTextUntilItIsRevoked) {
  const std::vector<int64_t> before = TokenIds();
  const auto made = MakeToken("anna", "operator", kHourSeconds);
  ASSERT_TRUE(made.ok()) << made.error().message;
  const v1::Token& token = made->token();
  EXPECT_EQ(token.owner(), "anna");
  EXPECT_EQ(token.role(), "operator");
  EXPECT_EQ(token.expires_at() - token.created_at(), kHourSeconds * kMicros);
  EXPECT_TRUE(made->text().starts_with("trainctl_")) << "as context add wants it";
  const auto second = MakeToken("gpu-1", "worker", 600);
  ASSERT_TRUE(second.ok()) << second.error().message;
  std::vector<int64_t> after = before;
  after.insert(after.end(), {token.id(), second->token().id()});
  EXPECT_EQ(TokenIds(), after);
  v1::RevokeTokenRequest revoke;
  revoke.set_id(token.id());
  EXPECT_TRUE(api_->RevokeToken(revoke).ok());
  std::erase(after, token.id());
  EXPECT_EQ(TokenIds(), after);
  EXPECT_EQ(CodeOf(api_->RevokeToken(revoke)), base::Code::kNotFound);
}

TEST_P(ApiContract, ATokenOfNobodyOrForNoTimeIsInvalid) {
  const std::vector<int64_t> before = TokenIds();
  EXPECT_EQ(CodeOf(MakeToken("anna", "king", kHourSeconds)), base::Code::kInvalid);
  EXPECT_EQ(CodeOf(MakeToken("", "user", kHourSeconds)), base::Code::kInvalid);
  EXPECT_EQ(CodeOf(MakeToken("anna", "user", 1)), base::Code::kInvalid);
  EXPECT_EQ(TokenIds(), before);
}

INSTANTIATE_TEST_SUITE_P(Sides, ApiContract, testing::Values(Side::kFake, Side::kReal),
                         [](const auto& side) {
                           return side.param == Side::kFake ? "Fake" : "Real";
                         });

}  // namespace
}  // namespace trainctl::rpc_test
