// The kinds of `trainctl export` that another program draws: one row each. To add one: its writer
// below with a file of its own, and its row in tracker_exports.cc. --help, man page and the verb
// follow from the row.
#pragma once

#include <span>
#include <string_view>

#include "client/api.h"
#include "client/files/folder_draft.h"

namespace trainctl::client {

struct TrackerExport {
  std::string_view option;  // of export, before the folder: "--mlflow"
  std::string_view help;
  std::string_view viewer, runs;  // the command that shows it: before and behind the folder
  // Fills the draft.
  base::Status (*write)(Api& api, const v1::GetResponse& jobs, FolderDraft* draft);
};

// In the order of the help.
std::span<const TrackerExport> TrackerExports();

// The writers. Errors are those of the coordinator and of the disk.
base::Status ExportEvents(Api& api, const v1::GetResponse& jobs, FolderDraft* draft);
base::Status ExportMlflow(Api& api, const v1::GetResponse& jobs, FolderDraft* draft);
base::Status ExportWandb(Api& api, const v1::GetResponse& jobs, FolderDraft* draft);

}  // namespace trainctl::client
