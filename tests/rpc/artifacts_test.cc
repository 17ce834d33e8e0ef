// What ranks have saved: told by Get, and read through a worker of the host.
#include <gtest/gtest.h>

#include <future>

#include "common/rank/rank_json.h"
#include "tests/rpc/fake_worker.h"
#include "tests/rpc/test_site.h"

namespace trainctl::rpc_test {
namespace {

using Stub = v1::Coordinator::Stub;

class ArtifactsTest : public testing::Test {
 protected:
  // A running job that has saved /out/final.
  ArtifactsTest() {
    worker_.Connect(site_.channel());
    worker_.SayFree();
    job_ = site_.Submit("tiny");
    key_ = worker_.Start();
    worker_.BeginTraining(key_);
    Save("final", "/out/final", 12);
  }

  void Save(const std::string& kind, const std::string& path, int64_t bytes) {
    worker_.Report(key_, job::RankSaved{kind, path, bytes, "files of " + path});
    worker_.WaitForAck(key_, ++reports_);
  }

  std::future<grpc::Status> Read(const std::string& path, const std::string& file) {
    request_.set_job(job_);
    request_.set_path(path);
    request_.set_file(file);
    return std::async(std::launch::async,
                      [this] { return site_.Call(&Stub::ReadArtifact, request_, &response_); });
  }

  TestSite site_;
  FakeWorker worker_{"a/0"};
  std::string job_;
  job::RankKey key_;
  int64_t reports_ = 2;  // that began the training
  v1::ReadArtifactRequest request_;
  v1::ReadArtifactResponse response_;
};

TEST_F(ArtifactsTest, GetTellsWhatWasSavedWhereAndWhen) {
  Save("checkpoint", "/out/step-1", 5);
  Save("final", "/out/final", 13);
  const v1::JobDetail detail = site_.Get(job_);
  ASSERT_EQ(detail.artifacts_size(), 2) << "what was saved again stands once";
  EXPECT_EQ(detail.artifacts(0).path(), "/out/step-1");
  const v1::Artifact& model = detail.artifacts(1);
  EXPECT_EQ(model.kind(), "final");
  EXPECT_EQ(model.path(), "/out/final");
  EXPECT_EQ(model.bytes(), 13);
  EXPECT_EQ(model.worker(), "a/0");
  EXPECT_EQ(model.host(), "a");
  EXPECT_EQ(model.attempt(), 1);
  EXPECT_GT(model.time(), 0);
}

TEST_F(ArtifactsTest, WhatTheRankRemovedIsNeitherToldNorRead) {
  Save("checkpoint", "/out/step-1", 5);
  Save("checkpoint", "/out/step-2", 5);
  const job::RankSaved third{"checkpoint", "/out/step-3", 5, "files", {"/out/step-1"}};
  worker_.Report(key_, job::ToBody(job::RankMessageFromLine(job::ToLine(third)).value()));
  worker_.WaitForAck(key_, ++reports_);
  std::vector<std::string> paths;
  const v1::JobDetail detail = site_.Get(job_);
  for (const v1::Artifact& artifact : detail.artifacts()) paths.push_back(artifact.path());
  EXPECT_EQ(paths, (std::vector<std::string>{"/out/final", "/out/step-2", "/out/step-3"}));
  EXPECT_EQ(Read("/out/step-1", "weights").get().error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(ArtifactsTest, AreReadByAWorkerOfTheirHost) {
  auto status = Read("/out/final", "weights");
  const v1::ArtifactAsk ask = worker_.Next(v1::CoordinatorMessage::kArtifact).artifact();
  EXPECT_EQ(ask.path(), "/out/final");
  EXPECT_EQ(ask.file(), "weights");
  EXPECT_EQ(ask.record(), "files of /out/final") << "as the rank reported it, for the worker";
  v1::WorkerMessage answer;
  answer.mutable_artifact_result()->set_request_id(ask.request_id());
  answer.mutable_artifact_result()->mutable_piece()->set_data("0123");
  worker_.Send(answer);
  EXPECT_TRUE(status.get().ok());
  EXPECT_EQ(response_.data(), "0123");
}

TEST_F(ArtifactsTest, AreListedByAWorkerOfTheirHost) {
  auto status = Read("/out/final", "");
  v1::WorkerMessage answer;
  v1::ArtifactResult& result = *answer.mutable_artifact_result();
  result.set_request_id(worker_.Next(v1::CoordinatorMessage::kArtifact).artifact().request_id());
  result.mutable_piece()->add_files()->set_path("weights");
  result.mutable_piece()->mutable_files(0)->set_bytes(4);
  worker_.Send(answer);
  EXPECT_TRUE(status.get().ok());
  ASSERT_EQ(response_.files_size(), 1);
  EXPECT_EQ(response_.files(0).path(), "weights");
  EXPECT_EQ(response_.files(0).bytes(), 4);
}

TEST_F(ArtifactsTest, NothingElseOfTheHostCanBeRead) {
  for (const std::string& path :
       std::vector<std::string>{"/etc", "/out", "/out/final/../secret", ""}) {
    const grpc::Status status = Read(path, "passwd").get();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND) << path;
  }
}

TEST_F(ArtifactsTest, WhatTheWorkerCannotReadIsTold) {
  auto status = Read("/out/final", "weights");
  v1::WorkerMessage answer;
  answer.mutable_artifact_result()->set_request_id(
      worker_.Next(v1::CoordinatorMessage::kArtifact).artifact().request_id());
  answer.mutable_artifact_result()->set_error("/out/final/weights: No such file or directory");
  worker_.Send(answer);
  EXPECT_EQ(status.get().error_message(), "/out/final/weights: No such file or directory");
}

TEST_F(ArtifactsTest, AnAnswerBeyondItsBoundIsNotPassedOn) {
  auto status = Read("/out/final", "weights");
  v1::WorkerMessage answer;
  answer.mutable_artifact_result()->set_request_id(
      worker_.Next(v1::CoordinatorMessage::kArtifact).artifact().request_id());
  answer.mutable_artifact_result()->mutable_piece()->set_data(std::string((1 << 20) + 1, 'x'));
  worker_.Send(answer);
  EXPECT_FALSE(status.get().ok());
  EXPECT_EQ(response_.data(), "");
}

TEST_F(ArtifactsTest, AreUnavailableWithoutAWorkerOfTheirHostAndWhenItGoesAway) {
  auto status = Read("/out/final", "weights");
  worker_.Next(v1::CoordinatorMessage::kArtifact);
  worker_.Disconnect();
  EXPECT_EQ(status.get().error_code(), grpc::StatusCode::UNAVAILABLE);
  FakeWorker elsewhere("b/0");
  elsewhere.Connect(site_.channel());
  const grpc::Status none = Read("/out/final", "weights").get();
  EXPECT_EQ(none.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_NE(none.error_message().find("no worker of host a is connected"), std::string::npos)
      << none.error_message();
}

// The id of a question is easily guessed.
TEST_F(ArtifactsTest, AWorkerOfAnotherHostGivesNoAnswer) {
  FakeWorker stranger("b/0");
  stranger.Connect(site_.channel());
  auto answer = Read("/out/final", "model");
  const auto asked = worker_.Next(v1::CoordinatorMessage::kArtifact).artifact();
  const auto say = [&asked](FakeWorker& worker, const std::string& data) {
    v1::WorkerMessage message;
    message.mutable_artifact_result()->set_request_id(asked.request_id());
    message.mutable_artifact_result()->mutable_piece()->set_data(data);
    EXPECT_TRUE(worker.Send(message));
  };
  say(stranger, "forged");
  v1::WorkerMessage again;
  again.mutable_hello();
  EXPECT_TRUE(stranger.Send(again));
  stranger.WaitForEnd();  // for that: so the answer before it was heard
  say(worker_, "true");
  ASSERT_TRUE(answer.get().ok());
  EXPECT_EQ(response_.data(), "true");
}

}  // namespace
}  // namespace trainctl::rpc_test
