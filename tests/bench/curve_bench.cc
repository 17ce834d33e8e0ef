// How long a page waits for the curves of a job of a million points: ten metrics of 100,000 steps,
// from the store. First as the page is opened, then as it asks again, with and without new points;
// last as it is opened where the coordinator has begun anew, with nothing in the page cache.
//   curve_bench [points=1000000] [folder]
// The bar is 1 s where it is opened, 50 ms where it asks again.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "common/base/check.h"
#include "common/rank/metric.h"
#include "server/web/curve_index.h"
#include "tests/web/stored_job.h"

namespace trainctl::web {
namespace {

constexpr job::Metric kDrawn[] = {job::Metric::kLoss,
                                  job::Metric::kLr,
                                  job::Metric::kTokensPerSecond,
                                  job::Metric::kStepSeconds,
                                  job::Metric::kGradNorm,
                                  job::Metric::kGpuUtilization,
                                  job::Metric::kGpuPower,
                                  job::Metric::kRankCpu,
                                  job::Metric::kRankMemoryUsed,
                                  job::Metric::kSamplesPerSecond};

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void Add(StoredJob& job, int64_t first, int64_t last) {
  constexpr int64_t kStepsABatch = 100;
  for (int64_t begin = first; begin < last; begin += kStepsABatch) {
    std::vector<job::MetricPoint> points;
    for (const job::Metric metric : kDrawn) {
      for (int64_t step = begin; step < std::min(last, begin + kStepsABatch); ++step)
        points.push_back({std::string(job::Name(metric)), step, std::nullopt, std::nullopt,
                          1.0 + static_cast<double>(step % 97), step});
    }
    job.Add(std::move(points));
  }
}

void Ask(CurveIndex& index, store::Reader& reader, const char* what) {
  const double begin = Now();
  size_t bytes = 0;
  for (const job::Metric metric : kDrawn) {
    const auto curves =
        index.Read(reader, {.job = "j1", .metric = std::string(job::Name(metric)), .buckets = 150});
    CHECK(curves.ok()) << curves.error().message;
    bytes += CurvesDocument(*curves).dump().size();
  }
  std::printf("%-28s %8.1f ms, %zu KiB\n", what, (Now() - begin) * 1e3, bytes / 1024);
}

void Run(const std::string& folder, int64_t points) {
  StoredJob job(folder);
  const int64_t steps = points / static_cast<int64_t>(std::size(kDrawn));
  Add(job, 0, steps);
  CurveIndex index;
  Ask(index, job.reader(), "opened");
  Ask(index, job.reader(), "asked again, nothing new");
  Add(job, steps, steps + 100);
  Ask(index, job.reader(), "asked again, 1,000 new");
  job.Restart();
  CurveIndex fresh;
  Ask(fresh, job.reader(), "opened after a restart");
}

}  // namespace
}  // namespace trainctl::web

int main(int count, char** words) {
  const int64_t points = count > 1 ? std::atoll(words[1]) : 1'000'000;
  trainctl::web::Run(count > 2 ? words[2] : "/tmp", points);
}
