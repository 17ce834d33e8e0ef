// A coordinator without gRPC, over a real store on a disk that may refuse.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "common/job/job_json.h"
#include "server/coordinator/coordinator.h"
#include "server/coordinator/event_loop.h"
#include "server/coordinator/read_thread.h"
#include "server/store/sqlite_store.h"
#include "tests/job/tiny_llama.h"
#include "tests/rpc/flaky_store.h"
#include "tests/rpc/temporary_folder.h"
#include "tests/rpc/test_site.h"

namespace trainctl::coordinator {

inline auth::Caller Anna() {
  return {.name = "anna", .address = "here", .role = auth::Role::kUser};
}
inline auth::Caller Ops() {
  return {.name = "ops", .address = "here", .role = auth::Role::kOperator};
}

inline std::string Text(const store::AuditRow& row) {
  return row.actor + " at " + row.address + ": " + row.action + " " + row.subject + ", " +
         row.verdict;
}

class FakeChannel : public WorkerChannel {
 public:
  void Send(const WorkerCommand& command) override { sent.push_back(command); }
  void End(const base::Error& reason) override {
    if (!ended) end.set_value(reason);
    ended = true;
  }
  template <class Command>
  int Count() const {
    return static_cast<int>(std::count_if(sent.begin(), sent.end(), [](const auto& c) {
      return std::holds_alternative<Command>(c);
    }));
  }

  std::vector<WorkerCommand> sent;
  bool ended = false;
  std::promise<base::Error> end;
};

// Fits anywhere.
inline job::Inspection SmallModel() {
  job::Inspection small = job::tiny_llama::TinyLlama();
  small.model.layers = 2;
  small.model.hidden = 64;
  small.model.intermediate = 128;
  small.model.heads = small.model.kv_heads = 4;
  small.model.head_dim = 16;
  small.model.vocab = 512;
  small.rows = 1000;
  return small;
}

class CoordinatorTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(coordinator_.Start().ok());
    loop_.Start();
  }
  void TearDown() override {
    reads_.Stop();
    loop_.Stop();
  }

  std::future<base::Result<Submitted>> PostSubmit(const std::string& request_id) {
    const job::JobSpec spec = job::FromJson(rpc_test::JobJson("tiny")).value();
    return PostSubmit(request_id, {spec, job::Inspection{.rows = 1000}, std::nullopt});
  }
  std::future<base::Result<Submitted>> PostSubmit(const std::string& request_id,
                                                  const core::Submission& submission) {
    auto answer = std::make_shared<std::promise<base::Result<Submitted>>>();
    loop_.Post([this, answer, submission, request_id] {
      const auto give = [answer](auto result) { answer->set_value(std::move(result)); };
      coordinator_.Submit({request_id, "", {submission}, false, "anna"}, Anna(), give);
    });
    return answer->get_future();
  }
  base::Result<Submitted> Submit(const std::string& request_id) {
    return PostSubmit(request_id).get();
  }

  // Whether the worker is asked within the deadline to send its log again from there on.
  bool IsAskedAgainFrom(int64_t offset) {
    const auto is_asked = [&] {
      bool asked = false;
      loop_.Call([&] {
        asked = std::ranges::any_of(channel_.sent, [&](const WorkerCommand& command) {
          const auto* stored = std::get_if<LogStored>(&command);
          return stored != nullptr && stored->again && stored->offset == offset;
        });
      });
      return asked;
    };
    const auto deadline = std::chrono::steady_clock::now() + rpc_test::kDeadline;
    while (!is_asked() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    return is_asked();
  }

  void Join(FakeChannel& channel, std::vector<core::HeldRank> held = {}, int64_t stream = 0) {
    core::WorkerHello hello{.stream = stream};
    hello.held = std::move(held);
    hello.worker.name = "a/0";
    hello.worker.host = "a";
    hello.worker.device.uuid = "cpu:a:0";
    hello.worker.device.memory_bytes = int64_t{8} << 30;
    hello.device_free = true;
    loop_.Call([&] { coordinator_.WorkerJoined(channel, hello); });
  }

  FakeChannel channel_, older_, newer_;  // outlive the coordinator
  const rpc_test::TemporaryFolder folder_;
  std::unique_ptr<store::Store> sqlite_ = store::OpenSqliteStore(folder_.path()).value();
  std::unique_ptr<store::Reader> reader_ = store::OpenSqliteReader(folder_.path()).value();
  FlakyStore store_{*sqlite_};
  base::FakeClock clock_;
  LogFiles logs_{folder_.path() + "/logs"};
  rpc_test::QuietLog log_;
  EventLoop loop_;
  ReadThread reads_{loop_, store::OpenSqliteReader(folder_.path()).value()};
  Coordinator coordinator_{{loop_, clock_, store_, *reader_, reads_, logs_, log_}};
};

}  // namespace trainctl::coordinator
