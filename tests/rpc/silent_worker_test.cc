// A worker of which nothing is heard: by a clock that the test sets, when its stream ends and when
// it is LOST.
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <thread>

#include "server/coordinator/coordinator.h"
#include "server/coordinator/event_loop.h"
#include "server/coordinator/read_thread.h"
#include "server/store/sqlite_store.h"
#include "tests/rpc/temporary_folder.h"
#include "tests/rpc/test_site.h"

namespace trainctl::coordinator {
namespace {

class KeepingChannel : public WorkerChannel {
 public:
  void Send(const WorkerCommand&) override {}
  void End(const base::Error& reason) override { ended = reason.code; }

  std::optional<base::Code> ended;
};

class SilentWorkerTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(coordinator_.Start().ok());
    loop_.Start();
    core::WorkerHello hello;
    hello.worker.name = "a/0";
    hello.worker.host = "a";
    loop_.Call([&] { coordinator_.WorkerJoined(channel_, hello); });
  }
  void TearDown() override {
    reads_.Stop();
    loop_.Stop();
  }

  // So much time passes, and the coordinator has looked at its clock since: one look may have been
  // on its way.
  void Pass(int64_t micros) {
    int64_t before = 0;
    loop_.Call([&] {
      clock_.Advance(micros);
      before = coordinator_.state().steps;
    });
    const auto deadline = std::chrono::steady_clock::now() + rpc_test::kDeadline;
    bool has_ticked = false;
    while (!has_ticked && std::chrono::steady_clock::now() < deadline) {
      loop_.Call([&] { has_ticked = coordinator_.state().steps > before + 1; });
      std::this_thread::yield();
    }
    ASSERT_TRUE(has_ticked);
  }

  bool IsConnected() {
    bool is = false;
    loop_.Call([&] { is = coordinator_.state().workers.at("a/0").connected; });
    return is;
  }
  bool IsLost() {
    bool is = false;
    loop_.Call([&] { is = coordinator_.state().workers.at("a/0").lost; });
    return is;
  }

  KeepingChannel channel_;  // outlives the coordinator
  rpc_test::TemporaryFolder folder_;
  std::unique_ptr<store::Store> store_ = store::OpenSqliteStore(folder_.path()).value();
  std::unique_ptr<store::Reader> reader_ = store::OpenSqliteReader(folder_.path()).value();
  base::FakeClock clock_;
  rpc_test::QuietLog log_;
  LogFiles logs_{folder_.path() + "/logs"};
  EventLoop loop_;
  ReadThread reads_{loop_, store::OpenSqliteReader(folder_.path()).value()};
  Coordinator coordinator_{{loop_, clock_, *store_, *reader_, reads_, logs_, log_}};
};

TEST_F(SilentWorkerTest, LosesItsStreamAfterTenSeconds) {
  Pass(10'000'000);
  EXPECT_TRUE(IsConnected());
  Pass(1);
  EXPECT_FALSE(IsConnected());
  loop_.Call([&] { EXPECT_EQ(channel_.ended, base::Code::kUnavailable); });
}

TEST_F(SilentWorkerTest, IsLostFifteenSecondsAfterItWasHeardLast) {
  Pass(14'999'999);
  EXPECT_FALSE(IsConnected());
  EXPECT_FALSE(IsLost());
  Pass(1);
  EXPECT_TRUE(IsLost()) << "its silence counts, not the end of its stream";
}

TEST_F(SilentWorkerTest, IsNotSilentWhereSomethingIsHeard) {
  for (int i = 0; i < 4; ++i) {
    Pass(9'000'000);
    loop_.Call([&] { coordinator_.WorkerSampled(channel_, "a/0", {}, {}); });
  }
  EXPECT_TRUE(IsConnected());
}

}  // namespace
}  // namespace trainctl::coordinator
