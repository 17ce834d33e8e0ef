// A job's curves as a run of TensorBoard.
#pragma once

#include <string>

#include "client/api.h"
#include "client/files/folder_draft.h"

namespace trainctl::client {

// One event file in the folder (relative to the draft): a scalar for each metric. Metrics of a rank
// are "gpu_power_watts/rank_0", those of a phase "memory_params_bytes/rank_0/after_forward". Errors
// are those of the coordinator and of the disk.
base::Status ExportEvents(Api& api, const v1::JobView& job, const std::string& folder,
                          FolderDraft* draft);

}  // namespace trainctl::client
