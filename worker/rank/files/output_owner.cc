#include "worker/rank/files/output_owner.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>

#include "common/base/error_number.h"
#include "common/base/file.h"
#include "common/job/output_folder.h"
#include "common/rank/run_names.h"

namespace trainctl::files {
namespace {

constexpr int kTries = 100;

bool IsOwn(const job::RankPlan& plan, const job::OutputFolder& folder) {
  return folder.owner && folder.owner->site == plan.site && folder.owner->job == plan.job_id;
}

base::Error Taken(const job::Problem& problem) {
  return {base::Code::kConflict,
          problem.value + ": expected " + problem.expected + ": " + problem.hint};
}

base::Error NotOwn(const job::RankPlan& plan, const job::OutputFolder& folder) {
  const std::string whose =
      folder.owner ? "is now that of " + folder.owner->job + " (" + folder.owner->name + ")"
                   : "has lost its owner file";
  return {base::Code::kConflict, *plan.job.output.dir + " " + whose + ": nothing is written there"};
}

// True: this claim is ours. False: another job was first. A link to a whole file either is made or
// is not, also on network file systems.
base::Result<bool> Claim(const job::RankPlan& plan, int64_t claim) {
  const std::string& directory = *plan.job.output.dir;
  const std::string path = job::OwnerPath(directory, claim);
  const std::string draft =
      job::OwnerFolder(directory) + "/" + job::OwnerDraft(plan.site, plan.job_id, plan.attempt);
  const job::FolderOwner owner{plan.site, plan.job_id, plan.job.name};
  if (const base::Status written = base::WriteFileAtomically(draft, job::ToJson(owner) + "\n");
      !written)
    return written.error();
  const bool linked = ::link(draft.c_str(), path.c_str()) == 0;
  const int error = errno;
  ::unlink(draft.c_str());
  if (!linked && error != EEXIST) return base::OsError(path, error);
  if (!linked) return false;
  if (const base::Status synced = base::SyncFolder(job::OwnerFolder(directory)); !synced)
    return synced.error();
  return true;
}

// Whether the owner file can't be read, and the job was accepted to the folder by what it said
// then.
bool MayRenew(const job::RankPlan& plan, const base::Error& error) {
  return plan.attempt > 1 && (error.code == base::Code::kInvalid || error.code == base::Code::kIo);
}

// The next owner file says anew whose the folder is. False: another job was first.
base::Result<bool> Renew(const job::RankPlan& plan) {
  const base::Result<int64_t> claims = job::CountClaims(*plan.job.output.dir);
  return claims ? Claim(plan, *claims + 1) : claims.error();
}

}  // namespace

base::Status TakeOutput(const job::RankPlan& plan) {
  const std::string& directory = *plan.job.output.dir;
  const job::Claimant claimant{plan.site, plan.job_id, plan.ended_jobs};
  bool is_renewed = false;
  for (int i = 0; i < kTries; ++i) {
    const base::Result<job::OutputFolder> folder = job::ReadWithOverlaps(directory);
    if (!folder && !std::exchange(is_renewed, true) && MayRenew(plan, folder.error())) {
      const base::Result<bool> renewed = Renew(plan);
      if (!renewed) return renewed.error();
      continue;
    }
    if (!folder) return folder.error();
    if (IsOwn(plan, *folder)) return base::Ok{};
    if (const auto problem = job::CheckOutputFolder(plan.job, *folder, claimant))
      return Taken(*problem);
    std::error_code error;
    std::filesystem::create_directories(job::OwnerFolder(directory), error);
    if (error) return base::Error{base::Code::kIo, directory + ": " + error.message()};
    const base::Result<bool> claimed = Claim(plan, folder->claims + 1);
    if (!claimed) return claimed.error();
    if (*claimed) return base::Ok{};
  }
  return base::Error{base::Code::kConflict, directory + ": other jobs take it all the time"};
}

base::Status CheckOwnsOutput(const job::RankPlan& plan) {
  const base::Result<job::OutputFolder> folder = job::ReadOutputFolder(*plan.job.output.dir);
  if (!folder) return folder.error();
  return IsOwn(plan, *folder) ? base::Status(base::Ok{}) : NotOwn(plan, *folder);
}

base::Status CheckNoOtherOwnsOutput(const job::RankPlan& plan) {
  const base::Result<job::OutputFolder> folder = job::ReadOutputFolder(*plan.job.output.dir);
  if (!folder) return folder.error();
  const bool is_others = folder->owner && !IsOwn(plan, *folder);
  return is_others ? base::Status(NotOwn(plan, *folder)) : base::Ok{};
}

}  // namespace trainctl::files
