// Jobs as a file store of MLflow, which `mlflow ui --backend-store-uri` reads:
//
//   EXPERIMENT/meta.yaml                     the group, or the only job
//   EXPERIMENT/RUN/meta.yaml                 a job: name, user, status, start and end
//   EXPERIMENT/RUN/params/KEY                a setting of the resolved job
//   EXPERIMENT/RUN/tags/KEY                  its own tags, and mlflow.… and trainctl.… of ours
//   EXPERIMENT/RUN/metrics/CURVE             a line a point: milliseconds, value, step; "." for "/"
//   EXPERIMENT/RUN/artifacts                 job.json and report.md
//
// Ids are made of ours and of the time of submission. So what is exported again has the same, and
// what two sites export has not.
#pragma once

#include "client/api.h"
#include "client/files/folder_draft.h"

namespace trainctl::client {

// Errors are those of the coordinator and of the disk.
base::Status ExportMlflow(Api& api, const v1::GetResponse& jobs, FolderDraft* draft);

}  // namespace trainctl::client
