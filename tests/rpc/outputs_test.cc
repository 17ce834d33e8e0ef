// Jobs that are removed with what they have saved: every host looks before any removes, and the job
// is forgotten once all have.
#include <gmock/gmock.h>

#include <future>

#include "common/job/job_json.h"
#include "tests/rpc/fake_worker.h"
#include "tests/rpc/test_site.h"

namespace trainctl::rpc_test {
namespace {

using Kind = v1::CoordinatorMessage;
using Stub = v1::Coordinator::Stub;
using testing::HasSubstr;

class OutputsTest : public testing::Test {
 protected:
  // A job of two hosts that has saved its model.
  OutputsTest() {
    for (FakeWorker* worker : {&a_, &b_}) {
      worker->Connect(site_.channel());
      worker->SayFree();
    }
    job::JobSpec spec = SmallJob("tiny", 2);
    spec.output = {.dir = "/out/tiny", .save = job::Save::kFinal};
    job_ = site_.Submit(spec);
    const job::RankKey of_a = a_.Start(), of_b = b_.Start();
    a_.BeginTraining(of_a);
    b_.BeginTraining(of_b);
    FakeWorker& leader = of_a.rank == 0 ? a_ : b_;
    leader.Report(of_a.rank == 0 ? of_a : of_b,
                  job::RankSaved{"final", "/out/tiny", 12, "files of it"});
    a_.Succeed(of_a);
    b_.Succeed(of_b);
    site_.WaitForState(job_, "FINISHED");
  }

  std::future<grpc::Status> Remove(bool look_only = false) {
    request_.set_job(job_);
    request_.set_look_only(look_only);
    response_.Clear();
    return std::async(std::launch::async,
                      [this] { return site_.Call(&Stub::RemoveOutputs, request_, &response_); });
  }
  // Takes the question, which must be of this kind, and answers it.
  static v1::OutputsAsk Answer(FakeWorker& worker, bool looks, int64_t files,
                               const std::string& error = "") {
    const v1::OutputsAsk ask = worker.Next(Kind::kOutputs).outputs();
    EXPECT_EQ(ask.look_only(), looks);
    v1::WorkerMessage answer;
    v1::OutputsResult& result = *answer.mutable_outputs_result();
    result.set_request_id(ask.request_id());
    result.mutable_outputs()->set_files(files);
    result.mutable_outputs()->set_bytes(files * 100);
    result.set_error(error);
    worker.Send(answer);
    return ask;
  }
  bool IsKept() {
    v1::GetRequest request;
    request.set_job(job_);
    v1::GetResponse response;
    return site_.Call(&Stub::Get, request, &response).ok();
  }
  std::vector<std::string> Audited() {
    v1::AuditRequest request;
    request.set_limit(10);
    v1::AuditResponse response;
    EXPECT_TRUE(site_.Call(&Stub::Audit, request, &response).ok());
    std::vector<std::string> lines;
    for (const v1::AuditEntry& entry : response.entries())
      lines.push_back(entry.action() + " " + entry.subject() + ", " + entry.verdict());
    return lines;
  }

  TestSite site_;
  FakeWorker a_{"a/0"}, b_{"b/0"};
  std::string job_;
  v1::RemoveOutputsRequest request_;
  v1::RemoveOutputsResponse response_;
};

TEST_F(OutputsTest, EveryHostLooksThenEachRemovesThenTheJobIsForgotten) {
  auto status = Remove();
  const v1::OutputsAsk ask = Answer(a_, true, 5);
  Answer(b_, true, 5);
  Answer(a_, false, 5);
  EXPECT_TRUE(IsKept()) << "as long as one host has not removed";
  Answer(b_, false, 0);
  ASSERT_TRUE(status.get().ok());
  EXPECT_FALSE(IsKept());
  EXPECT_EQ(response_.job().name(), "tiny");
  EXPECT_EQ(response_.output_dir(), "/out/tiny");
  ASSERT_EQ(response_.hosts_size(), 2);
  EXPECT_EQ(response_.hosts(0).host(), "a");
  EXPECT_EQ(response_.hosts(0).bytes(), 500);
  EXPECT_EQ(response_.hosts(1).files(), 0);
  EXPECT_EQ(ask.path(), "/out/tiny");
  EXPECT_EQ(ask.job(), job_);
  v1::WorkersResponse workers;
  ASSERT_TRUE(site_.Call(&Stub::Workers, v1::WorkersRequest(), &workers).ok());
  EXPECT_EQ(ask.site(), workers.site());
  ASSERT_EQ(ask.saved_size(), 1);
  EXPECT_EQ(ask.saved(0).record(), "files of it") << "as the rank reported it";
  const std::vector<std::string> audited = Audited();
  EXPECT_EQ(audited.at(0), "rm " + job_ + ", accepted");
  EXPECT_EQ(audited.at(1), "rm-outputs " + job_ + " /out/tiny, accepted");
}

TEST_F(OutputsTest, ALookRemovesNothing) {
  auto status = Remove(/*look_only=*/true);
  Answer(a_, true, 5);
  Answer(b_, true, 5);
  ASSERT_TRUE(status.get().ok());
  EXPECT_EQ(response_.hosts(1).files(), 5);
  EXPECT_TRUE(IsKept());
  EXPECT_THAT(Audited().at(0), HasSubstr("submit"));
}

TEST_F(OutputsTest, WhereOneHostRefusesNothingIsRemoved) {
  auto status = Remove();
  Answer(a_, true, 5);
  Answer(b_, true, 0, "/out/tiny belongs to j9 (other)");
  const grpc::Status refused = status.get();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(refused.error_message(),
            job_ + ": on host b: /out/tiny belongs to j9 (other): nothing was removed");
  EXPECT_TRUE(IsKept());
}

TEST_F(OutputsTest, WhereAHostCantBeAskedNothingIsRemoved) {
  b_.Disconnect();
  auto status = Remove();
  Answer(a_, true, 5);
  const grpc::Status refused = status.get();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(refused.error_message(), HasSubstr("host b"));
  EXPECT_THAT(refused.error_message(), HasSubstr("nothing was removed"));
  EXPECT_TRUE(IsKept());
}

TEST_F(OutputsTest, WhatFailsAmidItIsToldAndTheSameAgainGoesOn) {
  auto status = Remove();
  Answer(a_, true, 5);
  Answer(b_, true, 5);
  Answer(a_, false, 5);
  Answer(b_, false, 0, "cannot remove '/out/tiny/x': Input/output error");
  EXPECT_THAT(status.get().error_message(), HasSubstr("the job is kept; the same again"));
  EXPECT_TRUE(IsKept());
  status = Remove();
  for (const bool looks : {true, false}) {
    Answer(a_, looks, 0);
    Answer(b_, looks, 3);
  }
  EXPECT_TRUE(status.get().ok());
  EXPECT_FALSE(IsKept());
}

TEST_F(OutputsTest, MeanwhileNobodyRemovesItOrGoesOnFromThere) {
  auto status = Remove();
  const v1::OutputsAsk ask = a_.Next(Kind::kOutputs).outputs();
  v1::RemoveRequest plain;
  plain.add_jobs(job_);
  v1::RemoveResponse removed;
  EXPECT_THAT(site_.Call(&Stub::Remove, plain, &removed).error_message(),
              HasSubstr("is being removed already"));
  v1::RemoveOutputsResponse again;
  EXPECT_THAT(site_.Call(&Stub::RemoveOutputs, request_, &again).error_message(),
              HasSubstr("is being removed already"));
  v1::SubmitRequest submit;
  submit.set_request_id("reads there");
  job::JobSpec spec = SmallJob("reader");
  spec.model.path = "/out/tiny";
  submit.add_jobs()->set_job_json(job::ToJson(spec));
  submit.mutable_jobs(0)->set_inspection_json(InspectionJson());
  v1::SubmitResponse submitted;
  EXPECT_THAT(site_.Call(&Stub::Submit, submit, &submitted).error_message(),
              HasSubstr("has saved in /out/tiny is being removed"));
  a_.Disconnect();
  EXPECT_FALSE(status.get().ok());
  EXPECT_TRUE(site_.Call(&Stub::Submit, submit, &submitted).ok()) << "it is kept after all";
}

TEST_F(OutputsTest, AJobThatHasNotEndedKeepsWhatItNames) {
  job::JobSpec spec = SmallJob("reader", 2);
  spec.model.path = "/out/tiny/";
  const std::string reader = site_.Submit(spec);
  EXPECT_EQ(Remove().get().error_message(),
            reader +
                ", which has not ended, names /out/tiny as its model.path: nothing was "
                "removed");
  request_.set_job(reader);
  v1::RemoveOutputsResponse response;
  EXPECT_THAT(site_.Call(&Stub::RemoveOutputs, request_, &response).error_message(),
              HasSubstr("has not ended"));
}

TEST_F(OutputsTest, OfAJobThatWritesNoFilesNoHostIsAsked) {
  job_ = site_.Submit(SmallJob("quiet", 1));
  a_.Succeed(a_.Start());
  site_.WaitForState(job_, "FINISHED");
  a_.Disconnect();
  b_.Disconnect();
  ASSERT_TRUE(Remove().get().ok());
  EXPECT_EQ(response_.hosts_size(), 0);
  EXPECT_FALSE(IsKept());
}

}  // namespace
}  // namespace trainctl::rpc_test
