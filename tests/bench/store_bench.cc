// What the store takes, durably, on this disk: single submits, one transaction each; submits in
// groups of 20, as a shell that collects what waits; metric points in batches of 1,000; and the
// load of a restart with 10,000 jobs queued, and the memory that it takes.
//   store_bench [submits=2000] [folder]
// Five times as many jobs are queued at the restart: with 20000, 100,000.
// The bars: 500 submits/s, 100,000 points/s, a restart in 2 s.
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "server/store/sqlite_store.h"

namespace trainctl::store {
namespace {

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Of this process. What was freed before is given back first.
int64_t ResidentBytes() {
  malloc_trim(0);
  int64_t size = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

void Apply(Store& store, const Batch& batch) {
  const base::Status status = store.Apply(batch);
  CHECK(status.ok()) << status.error().message;
}

void AddSubmit(int64_t id, Batch* batch) {
  core::JobRow row;
  row.id = {id};
  row.request_id = "request-" + std::to_string(id);
  row.spec.name = "bench";
  row.spec.model.path = "/models/m";
  row.spec.data.path = "/data/d";
  row.spec.train.micro_batch_size = 1;
  batch->rows.push_back(core::SubmissionRow{row.request_id, {}, 1});
  batch->rows.push_back(row);
  batch->rows.push_back(core::UpdateJob{row.id, {}});
  batch->rows.push_back(core::EventRow{row.id, 1, "submitted"});
}

void Submits(Store& store, int64_t count, int64_t per_batch, int64_t* next_id) {
  std::vector<double> seconds;
  const double start = Now();
  for (int64_t done = 0; done < count; done += per_batch) {
    Batch batch;
    for (int64_t i = 0; i < per_batch; ++i) AddSubmit((*next_id)++, &batch);
    const double before = Now();
    Apply(store, batch);
    seconds.push_back(Now() - before);
  }
  const double total = Now() - start;
  std::sort(seconds.begin(), seconds.end());
  std::printf("submits, %3lld a transaction: %8.0f/s, p99 of a transaction %.2f ms\n",
              static_cast<long long>(per_batch), static_cast<double>(count) / total,
              seconds[seconds.size() * 99 / 100] * 1e3);
}

// 16 series, as a gang of some ranks reports them.
void Points(Store& store, int64_t count) {
  const double start = Now();
  const std::clock_t cpu = std::clock();
  int64_t step = 0;
  for (int64_t done = 0; done < count; done += 1000) {
    core::MetricRows rows{{{1}, 1, 0}, {}};
    for (int64_t i = 0; i < 1000; ++i) {
      rows.points.push_back({"metric_" + std::to_string(i % 16), step + i / 16, i % 4, std::nullopt,
                             1.5 * static_cast<double>(i), 1});
    }
    step += 1000 / 16 + 1;
    Batch batch;
    batch.rows.push_back(std::move(rows));
    batch.rows.push_back(core::AckRow{{{1}, 1, 0}, done});
    Apply(store, batch);
  }
  const double cpu_seconds = static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC;
  std::printf("metric points, 1,000 a transaction: %.0f/s, %.0f a second of CPU time\n",
              static_cast<double>(count) / (Now() - start),
              static_cast<double>(count) / cpu_seconds);
}

void Run(const std::string& folder, int64_t submits) {
  int64_t next_id = 1;
  {
    auto store = OpenSqliteStore(folder).value();
    Submits(*store, submits, 1, &next_id);
    Submits(*store, submits / 20 * 20, 20, &next_id);
    Points(*store, submits * 500);
    Batch rest;
    while (next_id <= submits * 5) AddSubmit(next_id++, &rest);
    Apply(*store, rest);
  }
  const double start = Now();
  const std::clock_t cpu = std::clock();
  const int64_t before = ResidentBytes();
  auto store = OpenSqliteStore(folder).value();
  const core::State state = core::Restore({}, store->LoadState().value(), {1, 1});
  std::printf("restart with %zu jobs queued: %.2f s, %.2f s of CPU time on all cores\n",
              state.jobs.size(), Now() - start,
              static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC);
  const auto bytes = static_cast<double>(ResidentBytes() - before);
  std::printf("memory: %.1f MiB for 10,000 jobs\n",
              bytes / (1 << 20) * 10'000 / static_cast<double>(state.jobs.size()));
}

}  // namespace
}  // namespace trainctl::store

int main(int argc, char** argv) {
  const int64_t submits = argc > 1 ? std::atoll(argv[1]) : 2000;
  std::string pattern = std::string(argc > 2 ? argv[2] : "/tmp") + "/store-bench-XXXXXX";
  const std::string folder = mkdtemp(pattern.data());
  trainctl::store::Run(folder, submits);
  std::filesystem::remove_all(folder);
}
