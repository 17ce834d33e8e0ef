#include "client/submit/folder_claims.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "client/all_jobs.h"
#include "common/job/folder_claims.h"
#include "common/job/output_folder.h"

namespace trainctl::client {
namespace {

// By folder, the jobs that have not ended. A coordinator that can't say knows of none.
std::map<std::string, std::string> LiveWriters(Api& api) {
  v1::ListRequest request;
  request.set_unfinished_only(true);
  const base::Result<std::vector<v1::JobView>> jobs = ListAllJobs(api, std::move(request));
  std::map<std::string, std::string> writers;
  if (!jobs.ok()) return writers;
  for (const v1::JobView& job : *jobs) {
    if (!job.output_dir().empty()) writers[job.output_dir()] = job.id();
  }
  return writers;
}

}  // namespace

void RefuseClaimedFolders(Context& context, std::vector<Assessment>* assessments) {
  const auto writes = [](const Assessment& assessment) {
    return job::WritesOutput(assessment.job);
  };
  if (std::ranges::none_of(*assessments, writes)) return;
  const std::map<std::string, std::string> live =
      context.api == nullptr ? std::map<std::string, std::string>() : LiveWriters(*context.api);
  job::FolderClaims claims([&](const std::string& folder) {
    return job::FindLive(live, folder, [](const std::string& job) { return job; });
  });
  for (Assessment& assessment : *assessments) {
    auto taken = claims.Claim(assessment.job);
    const bool is_known = std::ranges::any_of(
        assessment.site_problems,
        [](const job::Problem& problem) { return problem.path == "output.dir"; });
    if (taken && !is_known) assessment.site_problems.push_back(std::move(*taken));
  }
}

}  // namespace trainctl::client
