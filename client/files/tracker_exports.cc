#include "client/files/tracker_exports.h"

namespace trainctl::client {

std::span<const TrackerExport> TrackerExports() {
  static constexpr TrackerExport kKinds[] = {
      {"--tensorboard", "instead of all that: the curves alone, as event files of TensorBoard",
       "tensorboard --logdir ", "", &ExportEvents},
      {"--mlflow",
       "instead of all that: settings, tags and curves as a file store of MLflow, with job file "
       "and "
       "report as artifacts",
       "MLFLOW_ALLOW_FILE_STORE=true mlflow ui --backend-store-uri ", "", &ExportMlflow},
      {"--wandb",
       "instead of all that: settings and curves as offline runs of Weights & Biases, which wandb "
       "sync uploads",
       "wandb sync ", "/offline-run-*", &ExportWandb},
  };
  return kKinds;
}

}  // namespace trainctl::client
