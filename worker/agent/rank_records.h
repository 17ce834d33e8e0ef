// The worker's side of a rank's folder (worker/shim/rank_folder.h): its place under the worker's
// own, and its records read back.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "common/rank/rank_key.h"
#include "common/rank/rank_report.h"
#include "worker/shim/process_table.h"
#include "worker/shim/rank_folder.h"

namespace trainctl::agent {

// <directory>/ranks/j12-1-0 for job j12, attempt 1, rank 0.
std::string RankFolder(const std::string& directory, const job::RankKey& key);

// The ranks that have a folder, and those whose folder is gone while their shim lives; other names
// are passed over.
std::vector<job::RankKey> FindRanks(const std::string& directory);

// The shims that live in folders of this worker.
struct LiveShim {
  shim::ProcessStat process;
  std::string folder;
};
std::vector<LiveShim> FindShims(const std::string& directory);

// The site whose coordinator had the rank started, by plan.json; empty: it does not say.
std::string ReadSite(const std::string& folder);
// nullopt: there is no such record, or none that can be read.
std::optional<shim::PidRecord> ReadPidRecord(const std::string& folder);
std::optional<shim::ExitRecord> ReadExitRecord(const std::string& folder);
// Of its JSON.
std::optional<shim::ExitRecord> ParseExitRecord(const std::string& text);

// The end as the coordinator is told it, with the log's last lines.
job::ReportBody ToReport(const shim::ExitRecord& record, const std::string& folder);

}  // namespace trainctl::agent
