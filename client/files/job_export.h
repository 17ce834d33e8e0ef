// One job as files that are read without the site: what export writes for it.
#pragma once

#include <string>

#include "client/api.h"
#include "client/files/folder_draft.h"

namespace trainctl::client {

// "j12-tiny-bf16": the name as far as every file system takes it.
std::string FolderOf(const v1::JobView& view);

// Under the folder (relative to the draft; empty: at its top):
//   job.json                          the resolved job; `trainctl submit` takes it again, with
//                                     another output.dir
//   report.md                         outcome, attempts, predictions beside measurements, events
//   detail.json                       the same and more for programs: as `describe -o json`
//   memory.csv                        predicted and measured memory by kind and phase
//   metrics.csv, metrics.jsonl        the kept points: name, step, rank, phase, value, time
//   logs/attempt-N/rank-R.log         what the ranks wrote, as far as it is kept
// Errors are those of the coordinator and of the disk.
base::Status ExportJob(Api& api, const v1::JobDetail& detail, const std::string& folder,
                       FolderDraft* draft);

}  // namespace trainctl::client
