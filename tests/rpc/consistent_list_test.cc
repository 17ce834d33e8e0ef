// A list is of one moment, though the store is read before the scheduler's state.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <set>
#include <string>
#include <thread>

#include "tests/rpc/fake_worker.h"
#include "tests/rpc/test_site.h"

namespace trainctl::rpc_test {
namespace {

constexpr int kJobs = 60;

// Jobs that the answer has on a device at once, beyond the first.
int DoublyPlaced(const v1::ListResponse& list) {
  std::map<std::string, int> holders;
  for (const v1::JobView& job : list.jobs()) {
    if (job.state() == "QUEUED" || job.state() == "FINISHED") continue;
    for (const std::string& worker : job.placement()) ++holders[worker];
  }
  int doubled = 0;
  for (const auto& [worker, jobs] : holders) doubled += jobs - 1;
  return doubled;
}

// Each end lets the next job begin.
TEST(ConsistentList, NoTwoJobsAreOnADeviceAtOnce) {
  TestSite site;
  FakeWorker worker("a/0", "a");
  worker.Connect(site.channel());
  for (int i = 0; i < kJobs; ++i) site.Submit("job-" + std::to_string(i));
  std::atomic<bool> over = false;
  std::atomic<int> answers = 0, doubled = 0;
  std::thread reader([&] {
    while (!over) {
      v1::ListResponse list;
      if (!site.Call(&v1::Coordinator::Stub::List, v1::ListRequest(), &list).ok()) continue;
      ++answers;
      doubled += DoublyPlaced(list);
    }
  });
  for (int i = 0; i < kJobs; ++i) {
    const job::RankKey rank = worker.Start();
    worker.BeginTraining(rank);
    worker.Succeed(rank);
    worker.SayFree();
  }
  over = true;
  reader.join();
  EXPECT_GT(answers, 0);
  EXPECT_EQ(doubled, 0);
}

}  // namespace
}  // namespace trainctl::rpc_test
