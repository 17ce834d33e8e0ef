// Jobs as offline runs of Weights & Biases, which `wandb sync` uploads.
#pragma once

#include "client/api.h"
#include "client/files/folder_draft.h"

namespace trainctl::client {

// A folder offline-run-TIME-ID for each job, with run-ID.wandb. The group, or the only job, is the
// project. A point is of its step's row, of whichever rank and phase; all of a job's points are
// held in memory. Errors are those of the coordinator and of the disk.
base::Status ExportWandb(Api& api, const v1::GetResponse& jobs, FolderDraft* draft);

}  // namespace trainctl::client
