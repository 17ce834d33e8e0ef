// A list is of one moment, though the store is read before the scheduler's state. It has a device
// at one job at most.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

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

// A gang waits for its last rank, whose worker is away; the device of the other is another job's.
TEST(ConsistentList, AJobThatEndsHasNoDeviceThatItHasGivenBack) {
  TestSite site;
  FakeWorker first("a/0", "a"), second("b/0", "b");
  first.Connect(site.channel());
  second.Connect(site.channel());
  const std::string pair = site.Submit("pair", 2);
  const job::RankKey rank = first.Start();
  second.Start();
  EXPECT_EQ(site.Get(pair).view().placement_size(), 2);
  first.Report(rank, job::RankExit{.signal = 9});
  site.WaitForState(pair, "STOPPING");
  first.WaitForAck(rank, 1);
  site.Stop();
  first.Disconnect();
  second.Disconnect();
  site.Start();
  first.Connect(site.channel());
  first.SayFree();
  const std::string next = site.Submit("next");
  EXPECT_EQ(site.WaitForState(next, "STARTING").placement(0), "a/0");
  const v1::JobView view = site.Get(pair).view();
  EXPECT_EQ(view.state(), "STOPPING");
  EXPECT_EQ(std::vector<std::string>(view.placement().begin(), view.placement().end()),
            (std::vector<std::string>{"b/0"}));
}

}  // namespace
}  // namespace trainctl::rpc_test
