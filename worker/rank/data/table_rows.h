// The rows of Arrow and Parquet files, as if they stood in a file of JSON.
#pragma once

#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/job/job.h"
#include "worker/rank/data/row_chunk.h"

namespace trainctl::data {

// Puts chunks of all files together until one is not wanted. They are of the columns alone that
// data's format and data.columns name. Messages name file, "row group 3" or "batch 3", row (from 0,
// of the file) and column. Errors: those of tables::OpenTable and Table.
base::Status CutTables(const std::vector<std::string>& paths, const job::DataSpec& data,
                       const PutChunk& put);

}  // namespace trainctl::data
