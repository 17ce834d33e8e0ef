// Writes a batch's rows inside a transaction that somebody else opened. Internal to this room. Not
// thread-safe.
#pragma once

#include <string>

#include "server/store/database.h"
#include "server/store/metric_writer.h"
#include "server/store/store.h"

namespace trainctl::store {

class RowWriter {
 public:
  explicit RowWriter(Database& database);

  void Write(const Batch& batch);
  // The transaction was not committed: what is remembered of it is forgotten.
  void Forget() { metrics_.Forget(); }

 private:
  void Write(const core::SubmissionRow& row);
  void Write(const core::GroupRow& row);
  void Write(const core::JobRow& row);
  void Write(const core::UpdateJob& row);
  void Write(const core::UpdateInspection& row);
  void Write(const core::UpdateSpec& row);
  void Write(const core::RemoveJob& row);
  void Write(const core::AttemptRow& row);
  void Write(const core::RankRow& row);
  void Write(const core::WorkerRow& row);
  void Write(const core::RemoveWorker& row);
  void Write(const core::DrainRow& row);
  void Write(const core::RemoveDrain& row);
  void Write(const core::FaultRow& row);
  void Write(const core::RemoveFault& row);
  void Write(const LogsRemovedRow& row);
  void Write(const core::SlowRow& row);
  void Write(const core::RemoveSlow& row);
  void Write(const core::LeaseRow& row);
  void Write(const core::EventRow& row);
  void Write(const core::MetricRows& rows) { metrics_.Write(rows); }
  void Write(const core::RewindRow& row);
  void Write(const core::AckRow& row);
  void Write(const core::ArtefactRow& row);
  void Write(const core::ContinuationRow& row);
  void Forget(const core::ArtefactRow& by, const std::string& path);
  void Write(const AuditRow& row);

  Database& database_;
  MetricWriter metrics_;
  Statement status_, attempt_, rank_, worker_;
};

}  // namespace trainctl::store
