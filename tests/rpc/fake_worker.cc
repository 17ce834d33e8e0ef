#include "tests/rpc/fake_worker.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/rpc/test_site.h"

namespace trainctl::rpc_test {

v1::WorkerMessage FakeWorker::Hello() const {
  v1::WorkerMessage message;
  v1::Hello* hello = message.mutable_hello();
  hello->set_name(name_);
  hello->set_host(name_.substr(0, name_.find('/')));
  hello->set_boot_id("boot");
  hello->set_identity(identity_);
  hello->set_incarnation(identity_);
  hello->set_version("test");
  hello->mutable_device()->set_kind(kind_);
  hello->mutable_device()->set_uuid("cpu:" + name_);
  hello->mutable_device()->set_name(model_);
  hello->mutable_device()->set_memory_bytes(int64_t{8} << 30);
  hello->mutable_device()->set_threads(1);
  hello->mutable_device()->set_driver("580.95");
  hello->mutable_device()->mutable_labels()->insert(labels_.begin(), labels_.end());
  hello->mutable_device()->mutable_links()->insert(links_.begin(), links_.end());
  hello->mutable_rules()->mutable_read_roots()->Assign(read_roots_.begin(), read_roots_.end());
  hello->set_device_free(held_.empty());
  for (const auto& [key, sequence] : held_) {
    v1::HeldRank* held = hello->add_held();
    wire::WriteRankKey(key, held);
    held->set_running(true);
  }
  return message;
}

v1::Welcome FakeWorker::Connect(const std::shared_ptr<grpc::Channel>& channel) {
  Knock(channel);
  return Next(v1::CoordinatorMessage::kWelcome).welcome();
}

void FakeWorker::Knock(const std::shared_ptr<grpc::Channel>& channel) {
  Disconnect();
  stub_ = v1::WorkerGateway::NewStub(channel);
  context_ = std::make_unique<grpc::ClientContext>();
  stream_ = stub_->Connect(context_.get());
  reader_ = std::thread([this] { ReadAll(); });
  Send(Hello());
}

void FakeWorker::ReadAll() {
  v1::CoordinatorMessage message;
  while (stream_->Read(&message)) {
    const std::lock_guard lock(mutex_);
    inbox_.push_back(std::move(message));
    changed_.notify_all();
  }
  const std::lock_guard lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

void FakeWorker::Disconnect() {
  if (!stream_) return;
  context_->TryCancel();
  reader_.join();
  stream_->Finish();
  stream_.reset();
  inbox_.clear();
  ended_ = false;
}

grpc::Status FakeWorker::WaitForEnd() {
  {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, kDeadline, [this] { return ended_; }))
        << "the stream goes on";
  }
  reader_.join();
  const grpc::Status status = stream_->Finish();
  stream_.reset();
  inbox_.clear();
  ended_ = false;
  return status;
}

bool FakeWorker::Send(const v1::WorkerMessage& message) {
  return stream_ != nullptr && stream_->Write(message);
}

v1::CoordinatorMessage FakeWorker::Take(
    const std::string& what, const std::function<bool(const v1::CoordinatorMessage&)>& wanted) {
  std::unique_lock lock(mutex_);
  auto found = inbox_.end();
  const auto is_there = [&] {
    return (found = std::find_if(inbox_.begin(), inbox_.end(), wanted)) != inbox_.end();
  };
  changed_.wait_for(lock, kDeadline, [&] { return is_there() || ended_; });
  if (!is_there()) {
    ADD_FAILURE() << name_ << " never heard " << what;
    return {};
  }
  v1::CoordinatorMessage message = std::move(*found);
  inbox_.erase(found);
  return message;
}

v1::CoordinatorMessage FakeWorker::Next(v1::CoordinatorMessage::MessageCase kind) {
  return Take("message " + std::to_string(kind), [kind](const v1::CoordinatorMessage& message) {
    return message.message_case() == kind;
  });
}

job::RankKey FakeWorker::Start() {
  const v1::StartRank start = Next(v1::CoordinatorMessage::kStart).start();
  const auto key = wire::ReadRankKey(start.job(), start.attempt(), start.rank());
  if (!key) {
    ADD_FAILURE() << key.error().message;
    return {};
  }
  held_[*key] = 0;
  return *key;
}

void FakeWorker::Report(const job::RankKey& key, job::ReportBody body) {
  const bool is_exit = std::holds_alternative<job::RankExit>(body);
  reports_.push_back({key, ++held_[key], std::move(body)});
  if (is_exit) held_.erase(key);
  v1::WorkerMessage message;
  *message.mutable_report() = wire::ToWire(reports_.back());
  Send(message);
}

void FakeWorker::SendAgain() {
  for (const job::RankReport& report : reports_) {
    v1::WorkerMessage message;
    *message.mutable_report() = wire::ToWire(report);
    Send(message);
  }
}

void FakeWorker::Log(const job::RankKey& key, int64_t offset, const std::string& data) {
  v1::WorkerMessage message;
  wire::WriteRankKey(key, message.mutable_log());
  message.mutable_log()->set_offset(offset);
  message.mutable_log()->set_data(data);
  Send(message);
}

void FakeWorker::WaitForAck(const job::RankKey& key, int64_t sequence) {
  Take("the acknowledgement", [&](const v1::CoordinatorMessage& message) {
    const v1::Ack& ack = message.ack();
    return ack.job() == base::ToString(key.job) && ack.rank() == key.rank &&
           ack.sequence() >= sequence;
  });
}

void FakeWorker::WaitForLogAck(const job::RankKey& key, int64_t offset) {
  Take("the acknowledgement of its log", [&](const v1::CoordinatorMessage& message) {
    const v1::LogAck& ack = message.log_ack();
    return ack.job() == base::ToString(key.job) && ack.rank() == key.rank && ack.offset() >= offset;
  });
}

void FakeWorker::SayFree() {
  v1::WorkerMessage message;
  message.mutable_device_state()->set_free(true);
  Send(message);
}

void FakeWorker::BeginTraining(const job::RankKey& key) {
  Report(key, job::RankStarted{.pid = 4711,
                               .commit = "c0ffee",
                               .libtorch = "2.11.0",
                               .nccl = "",
                               .driver = "",
                               .device_name = "CPU slot"});
  Report(key, job::RankPhase{.phase = job::RunPhase::kTraining});
}

void FakeWorker::Succeed(const job::RankKey& key) {
  Report(key, job::RankOutcome{job::Outcome::kSucceeded, "", std::nullopt});
  job::RankExit exit;
  exit.exit_code = 0;
  Report(key, std::move(exit));
  Next(v1::CoordinatorMessage::kRelease);
  SayFree();
}

}  // namespace trainctl::rpc_test
