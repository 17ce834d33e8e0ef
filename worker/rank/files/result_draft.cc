#include "worker/rank/files/result_draft.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "common/base/error_number.h"
#include "common/base/file.h"
#include "common/job/output_folder.h"
#include "common/rank/run_names.h"
#include "worker/rank/files/checkpoint_folder.h"
#include "worker/rank/files/output_owner.h"

namespace trainctl::files {

namespace fs = std::filesystem;

ResultDraft::ResultDraft(const job::RankPlan& plan)
    : plan_(plan),
      output_dir_(*plan.job.output.dir),
      folder_(job::OwnerFolder(output_dir_) + "/" +
              job::UnfinishedResult(plan.site, plan.job_id, plan.attempt)) {
  RemoveLeftovers(job::OwnerFolder(output_dir_));
}

ResultDraft::~ResultDraft() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

// A rename changes nothing that a record says of a file.
base::Result<base::SavedRecord> ResultDraft::Record() const {
  base::Result<base::SavedRecord> record = base::RecordSaved(folder_);
  if (!record) return record;
  struct stat place{};
  if (::stat(output_dir_.c_str(), &place) != 0) return base::OsError(output_dir_, errno);
  record->device = place.st_dev;
  record->inode = place.st_ino;
  return record;
}

base::Status ResultDraft::Move(const base::SavedRecord& record) const {
  for (const base::SavedFile& file : record.files) {
    const std::string from = folder_ + "/" + file.path, to = output_dir_ + "/" + file.path;
    const std::string folder = fs::path(to).parent_path().string();
    std::error_code shown_by_the_rename;
    fs::create_directories(folder, shown_by_the_rename);
    if (std::rename(from.c_str(), to.c_str()) != 0)
      return base::OsError("cannot rename '" + from + "' to '" + to + "'", errno);
    const bool is_within = file.path.find('/') != std::string::npos;
    const base::Status synced = is_within ? base::SyncFolder(folder) : base::Ok{};
    if (!synced) return synced;
  }
  return base::SyncFolder(output_dir_);
}

base::Result<base::SavedRecord> ResultDraft::Publish() const {
  base::Result<base::SavedRecord> record = Record();
  if (!record) return record;
  if (const base::Status owns = CheckOwnsOutput(plan_); !owns) return owns.error();
  const std::string path = job::OwnerFolder(output_dir_) + "/" +
                           job::ResultRecord(plan_.site, plan_.job_id, plan_.attempt);
  base::Status done = base::WriteFileAtomically(path, base::ToText(*record));
  if (done) done = Move(*record);
  if (!done) return done.error();
  return record;
}

}  // namespace trainctl::files
