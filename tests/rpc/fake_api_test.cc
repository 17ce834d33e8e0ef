// What client tests believe of a coordinator: each test is answered by the fake of tests/client and
// by the real coordinator over gRPC.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/grpc_api.h"
#include "tests/client/fake_coordinator.h"
#include "tests/rpc/test_site.h"

namespace trainctl::rpc_test {
namespace {

enum class Side { kFake, kReal };

class ApiContract : public testing::TestWithParam<Side> {
 protected:
  ApiContract() {
    if (GetParam() == Side::kFake) {
      api_ = std::make_unique<client::FakeApi>(&fake_);
    } else {
      site_.emplace();
      api_ = client::ConnectGrpc({.address = site_->address()});
    }
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
  std::optional<TestSite> site_;
  std::unique_ptr<client::Api> api_;
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

INSTANTIATE_TEST_SUITE_P(Sides, ApiContract, testing::Values(Side::kFake, Side::kReal),
                         [](const auto& side) {
                           return side.param == Side::kFake ? "Fake" : "Real";
                         });

}  // namespace
}  // namespace trainctl::rpc_test
