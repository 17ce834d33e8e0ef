// Jobs' curves as runs of TensorBoard.
#pragma once

#include "client/api.h"
#include "client/files/folder_draft.h"

namespace trainctl::client {

// A run for each job: one event file in a folder, with a scalar for each curve (tracked_run.h).
// Errors are those of the coordinator and of the disk.
base::Status ExportEvents(Api& api, const v1::GetResponse& jobs, FolderDraft* draft);

}  // namespace trainctl::client
