// Reads what the simulated disk keeps: as much of a store::Reader as the coordinator itself asks.
// It knows no measures of runs.
#pragma once

#include <string_view>
#include <vector>

#include "common/base/check.h"
#include "server/store/reader.h"
#include "tests/server/simulation/sim_store.h"

namespace trainctl::core {

class SimReader : public store::Reader {
 public:
  explicit SimReader(const SimStore& store) : store_(store) {}

  base::Result<std::optional<store::StoredSubmission>> FindSubmission(
      std::string_view request_id) override;
  base::Result<std::vector<store::StoredJob>> Jobs(const store::JobFilter& filter) override;
  base::Result<OldLogs> JobsWithOldLogs(base::WallMicros ended_before, base::JobId behind) override;
  base::Result<std::vector<base::JobId>> RemovedAmong(const std::set<base::JobId>& jobs) override;
  base::Result<std::vector<store::StoredAttempt>> Attempts(base::JobId job) override;
  base::Result<std::vector<store::JobOutput>> OutputsOfOthers(std::string_view user) override;
  base::Result<std::vector<UseRow>> UseSince(base::WallMicros since) override;
  base::Result<std::vector<WorkerRow>> Workers() override;
  base::Result<std::vector<store::AuditRow>> Audit(int64_t limit, int64_t before) override;

  base::Result<std::vector<ArtefactRow>> Artefacts(base::JobId) override {
    return std::vector<ArtefactRow>();
  }
  base::Result<std::vector<job::Neighbour>> Neighbours(base::JobId) override {
    return std::vector<job::Neighbour>();
  }
  base::Result<std::vector<job::MetricSummary>> Summaries(base::JobId) override {
    return std::vector<job::MetricSummary>();
  }
  base::Status Points(base::JobId, const store::MetricFilter&, const TakePoints&) override {
    return base::Ok{};
  }

  // Of clients, which the simulation has none of.
  base::Result<Found> Find(std::string_view) override { return Unasked(); }
  base::Result<Found> LatestGroup() override { return Unasked(); }
  base::Result<store::JobCounts> CountJobs() override { return Unasked(); }
  base::Result<std::vector<EventRow>> Events(base::JobId) override { return Unasked(); }
  base::Result<std::vector<job::RankContinuation>> Continuations(
      base::JobId, const store::TextsQuestion&) override {
    return Unasked();
  }
  base::Result<std::vector<int64_t>> TextSteps(base::JobId) override { return Unasked(); }

 private:
  static base::Error Unasked() {
    return {base::Code::kInvalid, "the simulated disk is not asked this"};
  }
  const Ledger& ledger() const { return store_.ledger(); }

  const SimStore& store_;
};

}  // namespace trainctl::core
