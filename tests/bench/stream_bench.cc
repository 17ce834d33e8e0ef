// What passes through a whole coordinator, in this process: metric points of workers, until their
// acknowledgement, which follows the commit; and how soon those who watch hear of a change.
//   stream_bench [POINTS=400000] [WORKERS=4] [WATCHERS=200]
// The bar is 100,000 points a second.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/rpc/fake_worker.h"
#include "tests/rpc/test_site.h"
#include "tests/rpc/training_job.h"

namespace trainctl::rpc_test {
namespace {

using Steady = std::chrono::steady_clock;

constexpr int64_t kPointsOfReport = 512;
constexpr int64_t kUnacknowledged = 32;  // reports; a worker's relay is bounded too

double Seconds(Steady::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

// 16 series, as a rank reports them.
job::RankMetrics PointsFrom(int64_t step) {
  job::RankMetrics metrics;
  for (int64_t i = 0; i < kPointsOfReport; ++i) {
    metrics.points.push_back({"metric_" + std::to_string(i % 16), step + i / 16, std::nullopt,
                              std::nullopt, 1.5 * static_cast<double>(i), 1});
  }
  return metrics;
}

void SendPoints(FakeWorker& worker, const job::RankKey& rank, int64_t points) {
  const int64_t reports = points / kPointsOfReport;
  const int64_t before = 2;  // reports by which its training began
  for (int64_t report = 0; report < reports; ++report) {
    if (report >= kUnacknowledged && report % kUnacknowledged == 0)
      worker.WaitForAck(rank, before + report - kUnacknowledged + 1);
    worker.Report(rank, PointsFrom(report * kPointsOfReport / 16));
  }
  worker.WaitForAck(rank, before + reports);
}

void BenchPoints(int64_t points, int count) {
  TestSite site;
  std::vector<std::unique_ptr<FakeWorker>> workers;
  std::vector<TrainingJob> jobs;
  for (int i = 0; i < count; ++i) {
    workers.push_back(std::make_unique<FakeWorker>("a/" + std::to_string(i)));
    jobs.push_back(Train(site, *workers.back(), "job" + std::to_string(i)));
  }
  const int64_t of_each = points / count / kPointsOfReport * kPointsOfReport;
  std::vector<std::thread> threads;
  const auto start = Steady::now();
  for (int i = 0; i < count; ++i)
    threads.emplace_back([&, i] { SendPoints(*workers[i], jobs[i].rank, of_each); });
  for (std::thread& thread : threads) thread.join();
  const double seconds = Seconds(Steady::now() - start);
  std::cout << count << " workers: " << static_cast<int64_t>(count * of_each / seconds)
            << " metric points/s, stored and acknowledged\n";
}

// A user's calls that may be asked for at once are bounded (RequestBudget::Bounds).
constexpr int kAtOnce = 64;

// Each has a stream of its own. A change is a job's cancellation, which ends all of them.
void BenchWatchers(int count) {
  TestSite site({}, {.streams = count + 1});
  const std::string job = site.Submit("watched");
  std::atomic<int> listening = 0;
  std::vector<double> heard(count);
  std::atomic<Steady::rep> cancelled = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    while (i - listening >= kAtOnce) std::this_thread::yield();
    threads.emplace_back([&, i] {
      grpc::ClientContext context;
      v1::WatchRequest request;
      request.add_jobs(job);
      const auto stream = site.stub().Watch(&context, request);
      v1::JobView view;
      CHECK(stream->Read(&view));
      ++listening;
      while (stream->Read(&view)) {
        if (view.state() != "FINISHED") continue;
        heard[i] = Seconds(Steady::now() - Steady::time_point(Steady::duration(cancelled.load())));
      }
    });
  }
  while (listening < count) std::this_thread::yield();
  cancelled = Steady::now().time_since_epoch().count();
  v1::CancelRequest request;
  request.add_jobs(job);
  v1::CancelResponse response;
  CHECK(site.Call(&v1::Coordinator::Stub::Cancel, request, &response).ok());
  for (std::thread& thread : threads) thread.join();
  std::sort(heard.begin(), heard.end());
  std::cout << count << " watchers: half of them hear of a change within "
            << heard[heard.size() / 2] * 1e3 << " ms, all within " << heard.back() * 1e3 << " ms\n";
}

}  // namespace
}  // namespace trainctl::rpc_test

int main(int argc, char** argv) {
  const int64_t points = argc > 1 ? std::atoll(argv[1]) : 400'000;
  const int workers = argc > 2 ? std::atoi(argv[2]) : 4;
  const int watchers = argc > 3 ? std::atoi(argv[3]) : 200;
  if (workers < 1 || watchers < 1 || points / workers < 1000) {
    std::cerr << "usage: stream_bench [POINTS] [WORKERS] [WATCHERS]\n";
    return 2;
  }
  trainctl::rpc_test::BenchPoints(points, workers);
  trainctl::rpc_test::BenchWatchers(watchers);
}
