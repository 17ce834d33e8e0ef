// How long a page waits for the curves of a job of a million points: ten metrics of 100,000 steps,
// from the store. First as the page is opened, then as it asks again, with and without new points.
//   curve_bench [points=1000000] [folder]
// The bar is 1 s for the first, 50 ms for the others.
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "common/base/check.h"
#include "common/rank/metric.h"
#include "server/store/sqlite_store.h"
#include "server/web/curve_index.h"

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

void Add(store::Store& store, int64_t first, int64_t last) {
  constexpr int64_t kStepsABatch = 100;
  for (int64_t begin = first; begin < last; begin += kStepsABatch) {
    core::MetricRows rows{{{1}, 1, 0}, {}};
    for (const job::Metric metric : kDrawn) {
      for (int64_t step = begin; step < std::min(last, begin + kStepsABatch); ++step)
        rows.points.push_back({std::string(job::Name(metric)), step, std::nullopt, "",
                               1.0 + static_cast<double>(step % 97), step});
    }
    store::Batch batch;
    batch.rows.push_back(std::move(rows));
    CHECK(store.Apply(batch).ok());
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
  const auto store = store::OpenSqliteStore(folder).value();
  store::Batch batch;
  core::JobRow row;
  row.id = {1};
  row.request_id = "request";
  row.spec.name = "bench";
  batch.rows.push_back(core::SubmissionRow{row.request_id, {}, 1});
  batch.rows.push_back(row);
  core::JobStatus status;
  status.attempt = 1;
  batch.rows.push_back(core::UpdateJob{row.id, status});
  CHECK(store->Apply(batch).ok());
  const int64_t steps = points / static_cast<int64_t>(std::size(kDrawn));
  Add(*store, 0, steps);
  const auto reader = store::OpenSqliteReader(folder).value();
  CurveIndex index;
  Ask(index, *reader, "opened");
  Ask(index, *reader, "asked again, nothing new");
  Add(*store, steps, steps + 100);
  Ask(index, *reader, "asked again, 1,000 new");
}

}  // namespace
}  // namespace trainctl::web

int main(int count, char** words) {
  const int64_t points = count > 1 ? std::atoll(words[1]) : 1'000'000;
  std::string pattern = std::string(count > 2 ? words[2] : "/tmp") + "/curve-bench-XXXXXX";
  const std::string folder = mkdtemp(pattern.data());
  trainctl::web::Run(folder, points);
  std::filesystem::remove_all(folder);
}
