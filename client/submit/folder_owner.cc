#include "client/submit/folder_owner.h"

#include <algorithm>
#include <string>
#include <vector>

#include "client/show/decoded.h"
#include "client/submit/resumed_run.h"
#include "common/job/output_folder.h"

namespace trainctl::client {
namespace {

std::string HintOfEnded(const job::FolderOwner& owner, const job::ResumedRun& run,
                        bool has_checkpoint) {
  const bool has_nothing_left = HasNothingLeft(run);
  if (has_checkpoint && !has_nothing_left) {
    return job::OwnerText(owner) + ": go on from there with: trainctl resume " + owner.job +
           "; or " + job::kOtherFolder;
  }
  return job::OwnerText(owner) + ", which has " +
         (has_nothing_left ? "made all its steps" : "no checkpoint to go on from") + ": " +
         job::kOtherFolder + "; trainctl rm " + owner.job + " --outputs frees this one";
}

// What can be done about a folder that is not free. known: what the site has said otherwise.
std::string Hint(const job::FolderOwner& owner, const base::Result<v1::JobDetail>& detail,
                 const std::string& known) {
  if (!detail.ok() && detail.error().code == base::Code::kNotFound) {
    return job::OwnerText(owner) + ", which this site no longer knows: " + job::kOtherFolder +
           ", or remove this one if it is no longer wanted";
  }
  if (!detail.ok()) return known;
  if (!HasEnded(detail->view()))
    return job::OwnerText(owner) + ", which has not ended: " + job::kOtherFolder;
  const base::Result<job::ResumedRun> run = ReadResumedRun(*detail);
  return run.ok() ? HintOfEnded(owner, *run, ResumeFolder(*detail, run->spec).has_value()) : known;
}

}  // namespace

void CheckFolderOwner(Context& context, const Site& site, Assessment* assessment) {
  if (!assessment->inspection || !assessment->inspection->output) return;
  const job::OutputFolder& folder = *assessment->inspection->output;
  if (!folder.owner || folder.owner->site != site.id) return;
  std::vector<job::Problem>& problems = assessment->site_problems;
  const bool is_taken = !job::IsFreeOnceEnded(assessment->job, folder);
  if (!is_taken && !problems.empty()) return;
  const base::Result<v1::JobDetail> detail = GetOneJob(context, folder.owner->job);
  if (!is_taken && (!detail.ok() || HasEnded(detail->view()))) return;
  auto problem = std::ranges::find(problems, "output.dir", &job::Problem::path);
  if (problem == problems.end()) {
    problem = problems.insert(problem, {"output.dir", 0, "\"" + *assessment->job.output.dir + "\"",
                                        "a folder that no other job owns", ""});
  }
  problem->hint = Hint(*folder.owner, detail, problem->hint);
}

}  // namespace trainctl::client
