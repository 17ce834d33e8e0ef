// What model and data of a job hold, before anything runs: the answer of `trainworker --inspect`.
#pragma once

#include <string>

#include "common/base/result.h"
#include "common/estimate/inspection.h"
#include "common/job/job.h"
#include "worker/rank/data/cache_folders.h"
#include "worker/rank/data/cache_turn.h"

namespace trainctl::data {

// Reads config.json and the headers of weights that are there. Of a job that trains it loads the
// data set whole. Of large data (LoadSample) and of pictures it looks at a sample. So a broken row
// or a foreign token is found now, not at step 900. Errors: those of files::ReadModelConfig,
// WeightFiles::Open, CheckWeights, LoadDataset and ReadPrompts. kInvalid too: there is no
// checkpoint to go on from, output.dir can't be read, or a model of words has eval.images. Several
// paths that are not there are named together. waits_for: told who makes the same tokens.
base::Result<job::Inspection> Inspect(const job::JobSpec& job, const CacheFolders& folders = {},
                                      const WaitsFor& waits_for = {});

}  // namespace trainctl::data
