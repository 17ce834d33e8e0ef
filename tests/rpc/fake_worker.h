// A worker that speaks the real stream and does what the test says. It holds what ranks it was told
// to start.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/wire/rank_key.h"
#include "common/wire/rank_report.h"
#include "proto/trainctl.grpc.pb.h"

namespace trainctl::rpc_test {

class FakeWorker {
 public:
  // identity: of its folder; the process's incarnation is the same.
  explicit FakeWorker(std::string name, std::string identity = "")
      : name_(std::move(name)), identity_(std::move(identity)) {}
  ~FakeWorker() { Disconnect(); }

  // Said at the next Hello.
  void SetLabels(std::map<std::string, std::string> labels) { labels_ = std::move(labels); }
  void SetReadRoots(std::vector<std::string> roots) { read_roots_ = std::move(roots); }
  void SetKind(std::string kind) { kind_ = std::move(kind); }
  void SetModel(std::string model) { model_ = std::move(model); }
  void SetLinks(std::map<std::string, std::string> links) { links_ = std::move(links); }
  // Hello and its Welcome. Held: the ranks that were started and have not reported an exit.
  v1::Welcome Connect(const std::shared_ptr<grpc::Channel>& channel);
  // Hello only: the stream is to be refused.
  void Knock(const std::shared_ptr<grpc::Channel>& channel);
  // As a network that is cut.
  void Disconnect();
  // What the stream ends with, when the coordinator ends it.
  grpc::Status WaitForEnd();

  bool Send(const v1::WorkerMessage& message);
  // The next message of this kind, which is taken; others stay. Fails the test where none comes.
  v1::CoordinatorMessage Next(v1::CoordinatorMessage::MessageCase kind);
  // Waits for a start command and holds the rank.
  job::RankKey Start();

  // Numbers the report, sends it unless disconnected, and keeps it for SendAgain.
  void Report(const job::RankKey& key, job::ReportBody body);
  // Every report again, whatever was acknowledged.
  void SendAgain();
  void Log(const job::RankKey& key, int64_t offset, const std::string& data);
  // Until the report with this number, or a later one, is acknowledged.
  void WaitForAck(const job::RankKey& key, int64_t sequence);
  void WaitForLogAck(const job::RankKey& key, int64_t offset);
  void SayFree();

  // The usual life of a rank: started, training, all that the test reports in between, then success
  // and exit.
  void BeginTraining(const job::RankKey& key);
  void Succeed(const job::RankKey& key);

 private:
  using Stream = grpc::ClientReaderWriter<v1::WorkerMessage, v1::CoordinatorMessage>;

  v1::WorkerMessage Hello() const;
  void ReadAll();
  v1::CoordinatorMessage Take(const std::string& what,
                              const std::function<bool(const v1::CoordinatorMessage&)>& wanted);

  const std::string name_;
  const std::string identity_;
  std::string kind_ = "cpu", model_ = "CPU slot";
  std::map<std::string, std::string> labels_, links_;
  std::vector<std::string> read_roots_;
  std::unique_ptr<v1::WorkerGateway::Stub> stub_;
  std::unique_ptr<grpc::ClientContext> context_;
  std::unique_ptr<Stream> stream_;
  std::thread reader_;

  std::map<job::RankKey, int64_t> held_;  // with the last report's number
  std::deque<job::RankReport> reports_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<v1::CoordinatorMessage> inbox_;  // guarded by mutex_
  bool ended_ = false;                        // guarded by mutex_
};

}  // namespace trainctl::rpc_test
