// What compare prints of a run agrees with itself and with the run, whatever became of it: from the
// points of random runs, through the store, to the table.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <map>
#include <utility>

#include "server/coordinator/comparison.h"
#include "server/store/sqlite_store.h"
#include "tests/server/sample_rows.h"
#include "tests/server/temporary_folder.h"

namespace trainctl::coordinator {
namespace {

struct StepTruth {
  double seconds = 0;
  double tokens = 0;
  double samples = 0;
};

// By step: those that count, each as the latest attempt did it.
using RunTruth = std::map<int64_t, StepTruth>;

StepTruth AnyStep() {
  return {*rc::gen::inRange(1, 100'000) / 1000.0, 1.0 * *rc::gen::inRange(1, 5000),
          1.0 * *rc::gen::inRange(1, 64)};
}

class Site {
 public:
  Site() { Reopen(); }

  // A run that begins anywhere (resumed from another's checkpoint) and ends anywhere (cancelled).
  // It is interrupted, and goes on from an earlier step, any number of times.
  RunTruth AddRun(int64_t id) {
    RC_ASSERT(store_->Apply(store::SubmitBatch(id, "run-" + std::to_string(id))).ok());
    RunTruth truth;
    const int64_t first = *rc::gen::inRange(0, 50);
    int64_t end = first;
    const int64_t attempts = *rc::gen::inRange(1, 4);
    for (int64_t attempt = 1; attempt <= attempts; ++attempt) {
      const int64_t begin = *rc::gen::inRange(first, end + 1);
      truth.erase(truth.lower_bound(begin), truth.end());
      end = begin + *rc::gen::inRange(1, 20);
      if (attempt > 1) RC_ASSERT(store_->Apply({{core::RewindRow{{id}, attempt, begin}}, {}}).ok());
      core::MetricRows rows{{{id}, attempt, 0}, {}};
      for (int64_t step = begin; step < end; ++step) {
        truth[step] = AnyStep();
        AddPoints(step, truth[step], &rows.points);
        if (step + 1 < end && *rc::gen::inRange(0, 10) > 0) continue;
        RC_ASSERT(store_->Apply({{std::exchange(rows, {rows.key, {}})}, {}}).ok());
        if (*rc::gen::inRange(0, 10) == 0) Reopen();
      }
    }
    core::JobStatus status{.state = job::JobState::kFinished};
    status.end = {.outcome = job::Outcome::kSucceeded};
    RC_ASSERT(store_->Apply({{core::UpdateJob{{id}, status}}, {}}).ok());
    return truth;
  }

  compare::Table Compare(const std::vector<std::string>& jobs) {
    const auto comparison = CompareJobs(*reader_, jobs, jobs.back());
    if (!comparison) RC_FAIL(comparison.error().message);
    return comparison->table;
  }

 private:
  // As a coordinator that is restarted.
  void Reopen() {
    store_.reset();
    store_ = store::OpenSqliteStore(folder_.path()).value();
    reader_ = store::OpenSqliteReader(folder_.path()).value();
  }

  // As a rank reports it.
  static void AddPoints(int64_t step, const StepTruth& truth,
                        std::vector<job::MetricPoint>* points) {
    const auto add = [&](job::Metric metric, double value) {
      points->push_back({.name = std::string(job::Name(metric)), .step = step, .value = value});
    };
    using enum job::Metric;
    add(kStepSeconds, truth.seconds);
    add(kSamples, truth.samples);
    add(kSamplesPerSecond, truth.samples / truth.seconds);
    add(kTokens, truth.tokens);
    add(kTokensPerSecond, truth.tokens / truth.seconds);
  }

  store::TemporaryFolder folder_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<store::Reader> reader_;
};

double Shown(const compare::Table& table, const std::string& key, size_t run) {
  for (const compare::Row& row : table.rows) {
    if (row.key == key) return std::get<double>(row.values[run].value);
  }
  RC_FAIL("no row " + key);
  return 0;
}

void ExpectEqual(double a, double b) { RC_ASSERT(std::abs(a - b) <= 1e-9 * std::abs(b)); }

RC_GTEST_PROP(Identities, WhatIsShownOfRandomRunsAgrees, ()) {
  Site site;
  const std::vector<RunTruth> truths = {site.AddRun(1), site.AddRun(2)};
  const compare::Table table = site.Compare({"j1", "j2"});
  for (size_t run = 0; run < truths.size(); ++run) {
    double seconds = 0, tokens = 0, samples = 0;
    for (const auto& [step, truth] : truths[run]) {
      seconds += truth.seconds;
      tokens += truth.tokens;
      samples += truth.samples;
    }
    ExpectEqual(Shown(table, "time_seconds", run), seconds);
    ExpectEqual(Shown(table, "samples", run), samples);
    const double rate = Shown(table, "samples_per_second", run);
    ExpectEqual(rate * Shown(table, "time_seconds", run), samples);
    ExpectEqual(Shown(table, "tokens_per_second", run) * seconds, tokens);
    ExpectEqual(Shown(table, "speedup", run), rate / Shown(table, "samples_per_second", 1));
  }
}

}  // namespace
}  // namespace trainctl::coordinator
