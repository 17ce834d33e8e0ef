#include "tests/server/simulation/commit_checks.h"

#include <gtest/gtest.h>

namespace trainctl::core {
namespace {

// As the audit log has it; empty: somebody else's change, or none.
struct NameChange {
  std::string operator()(const JobRow& row) const { return "submit " + base::ToString(row.id); }
  std::string operator()(const RemoveJob& row) const { return "rm " + base::ToString(row.job); }
  std::string operator()(const RemoveWorker& row) const { return "remove " + row.worker; }
  std::string operator()(const DrainRow& row) const { return "drain " + row.target; }
  template <class Other>
  std::string operator()(const Other&) const {
    return "";
  }
};

std::vector<std::string> ChangesOf(const store::Batch& batch) {
  std::vector<std::string> changes;
  for (const Persist& row : batch.rows) {
    const std::string change = std::visit(NameChange(), row);
    if (!change.empty()) changes.push_back(change);
  }
  for (const store::LogsRemovedRow& row : batch.logs_removed) {
    if (row.any) changes.push_back("remove logs " + base::ToString(row.job));
  }
  return changes;
}

}  // namespace

void CommitChecks::Check(const store::Batch& batch) {
  NumbersAreGivenOnce(batch);
  ChangesAreAudited(batch);
}

void CommitChecks::Forget(base::JobId first) {
  given_.erase(given_.lower_bound(first), given_.end());
}

void CommitChecks::NumbersAreGivenOnce(const store::Batch& batch) {
  for (const Persist& row : batch.rows) {
    const auto* job = std::get_if<JobRow>(&row);
    if (job == nullptr) continue;
    ASSERT_TRUE(given_.insert(job->id).second) << base::ToString(job->id) << " is given again";
  }
}

void CommitChecks::ChangesAreAudited(const store::Batch& batch) {
  for (const store::AuditRow& row : batch.audit) ++audited_[row.action + " " + row.subject];
  for (const std::string& change : ChangesOf(batch))
    ASSERT_LE(++changes_[change], audited_[change]) << change << ": by whom is not stored";
}

}  // namespace trainctl::core
