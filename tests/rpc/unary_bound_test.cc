// Calls that wait are bounded for each user: what comes beyond is refused at once.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <semaphore>
#include <vector>

#include "server/coordinator/event_loop.h"
#include "server/coordinator/read_thread.h"
#include "server/rpc/request_budget.h"
#include "server/rpc/server.h"
#include "server/store/sqlite_store.h"
#include "tests/rpc/test_site.h"

namespace trainctl::rpc {
namespace {

struct OpenCall {
  grpc::ClientContext context;
  v1::WorkersRequest request;
  v1::WorkersResponse response;
};

TEST(UnaryCalls, BeyondTheBoundAreRefusedAtOnceAndTheOthersAnswered) {
  constexpr int kBeyond = 20;
  const int most = static_cast<int>(RequestBudget::Bounds().calls_of_user);
  const int all = most + kBeyond;
  const rpc_test::TemporaryFolder folder;
  const auto store = store::OpenSqliteStore(folder.path()).value();
  const auto reader = store::OpenSqliteReader(folder.path()).value();
  const base::SystemClock clock;
  rpc_test::QuietLog log;
  coordinator::LogFiles logs(folder.path() + "/logs");
  coordinator::EventLoop loop;
  coordinator::ReadThread reads(loop, store::OpenSqliteReader(folder.path()).value());
  coordinator::Coordinator coordinator({loop, clock, *store, *reader, reads, logs, log});
  coordinator::BackupThread backups(loop, folder.path());
  meters::Meters meters(clock);
  auth::CallRate rate(clock, [](const std::string&) { return auth::RateBound{}; });
  ASSERT_TRUE(coordinator.Start().ok());
  const auto server = Server::Start({auth::ParseListenAddress("127.0.0.1:0").value()},
                                    {loop, reads, backups, coordinator, log, "v", meters, rate})
                          .value();
  const auto stub = v1::Coordinator::NewStub(grpc::CreateChannel(
      auth::ToString(server->addresses().front()), grpc::InsecureChannelCredentials()));

  // The loop does not run yet: whoever is let in waits.
  std::atomic<int> refused = 0, answered = 0;
  std::counting_semaphore<> ends(0);
  std::vector<OpenCall> calls(all);
  for (OpenCall& call : calls) {
    call.context.set_deadline(std::chrono::system_clock::now() + rpc_test::kDeadline);
    stub->async()->Workers(&call.context, &call.request, &call.response,
                           [&](const grpc::Status& status) {
                             refused += status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED;
                             answered += status.ok();
                             ends.release();
                           });
  }
  for (int end = 0; end < kBeyond; ++end) ends.acquire();
  EXPECT_EQ(refused, kBeyond);
  loop.Start();
  for (int end = 0; end < most; ++end) ends.acquire();
  EXPECT_EQ(answered, most);
  server->Stop();
  reads.Stop();
  backups.Stop();
  loop.Stop();
}

}  // namespace
}  // namespace trainctl::rpc
