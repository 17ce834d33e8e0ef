// Rows in which every field has a value of its own, for round trips.
#pragma once

#include <string>

#include "server/core/actions.h"
#include "server/store/store.h"

namespace trainctl::store {

job::Prediction SamplePrediction(int64_t peak_bytes);
core::JobRow SampleJob(int64_t id, const std::string& name, const std::string& request_id,
                       int64_t group = 0);
job::AttemptEnd SampleEnd();
core::RankRow SampleRank(const job::RankKey& key);
core::WorkerRow SampleWorker(const std::string& name);

// A queued job with its submission.
Batch SubmitBatch(int64_t id, const std::string& name);
// A job of two ranks that is STARTING, with rows of every kind.
Batch EveryRow();

}  // namespace trainctl::store
