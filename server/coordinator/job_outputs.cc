#include "server/coordinator/job_outputs.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "common/job/output_folder.h"

namespace trainctl::coordinator {
namespace {

// Its workers that are known: also those that ran the job and were removed since.
std::vector<JobOutputs::Host> HostsOf(const std::vector<store::StoredAttempt>& attempts,
                                      const std::vector<core::WorkerRow>& workers) {
  std::map<std::string, std::set<std::string>> of_host;
  for (const store::StoredAttempt& attempt : attempts) {
    for (const core::RankRow& rank : attempt.ranks) of_host[rank.host].insert(rank.worker);
  }
  for (const core::WorkerRow& worker : workers) {
    const auto found = of_host.find(worker.host);
    if (found != of_host.end()) found->second.insert(worker.name);
  }
  std::vector<JobOutputs::Host> hosts;
  for (const auto& [host, names] : of_host) hosts.push_back({host, {names.begin(), names.end()}});
  return hosts;
}

base::Error CannotTell(const core::JobRow& job, const std::string& why) {
  return {base::Code::kConflict,
          base::ToString(job.id) + ": " + why + ": what it has written must be removed by hand"};
}

}  // namespace

base::Result<JobOutputs> FindOutputs(store::Reader& reader, const core::JobRow& job) {
  if (job.unreadable) return CannotTell(job, "its settings can't be read by this coordinator");
  JobOutputs outputs{.job = job.id, .name = job.spec.name, .owner = job.user};
  if (!job::WritesOutput(job.spec)) return outputs;
  const auto attempts = reader.Attempts(job.id);
  if (!attempts) return attempts.error();
  const auto workers = reader.Workers();
  if (!workers) return workers.error();
  const auto artefacts = reader.Artefacts(job.id);
  if (!artefacts) return artefacts.error();
  outputs.output_dir = *job.spec.output.dir;
  outputs.hosts = HostsOf(*attempts, *workers);
  size_t bytes = 0;
  for (const core::ArtefactRow& row : *artefacts) {
    bytes += row.saved.path.size() + row.saved.record.size();
    outputs.saved.push_back({row.saved.path, row.saved.record});
  }
  if (bytes <= job::RemovalQuestion::kMaxRecordBytes) return outputs;
  return CannotTell(job,
                    "it has saved too many files (" + std::to_string(bytes) + " bytes of records)");
}

}  // namespace trainctl::coordinator
