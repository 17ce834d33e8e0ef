// What a run leaves at its end, until it is whole: a folder within .trainctl that is the attempt's
// own (common/rank/run_names.h). Its files get their places in output.dir by renames, after a
// record of them lies beside the owner file. So of a run that is killed at any moment it is known
// which files are its own. Rank 0's only. Not thread-safe.
#pragma once

#include <string>

#include "common/base/result.h"
#include "common/base/saved_folder.h"
#include "common/rank/rank_plan.h"

namespace trainctl::files {

class ResultDraft {
 public:
  // What earlier attempts and owners left unfinished in this output.dir goes.
  explicit ResultDraft(const job::RankPlan& plan);
  // What was not published goes.
  ~ResultDraft();
  ResultDraft(const ResultDraft&) = delete;
  ResultDraft& operator=(const ResultDraft&) = delete;

  // To be made, and filled.
  const std::string& folder() const { return folder_; }
  // All files that are there get their places, over older ones of their names. Returns their record
  // in output.dir. Errors: kConflict (the folder is another job's), kIo, kExhausted.
  base::Result<base::SavedRecord> Publish() const;

 private:
  base::Result<base::SavedRecord> Record() const;
  base::Status Move(const base::SavedRecord& record) const;

  const job::RankPlan& plan_;
  const std::string output_dir_;
  const std::string folder_;
};

}  // namespace trainctl::files
