// The rows of Arrow and Parquet files, as if they stood in a file of JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/job/job.h"
#include "worker/rank/data/json_rows.h"

namespace trainctl::data {

// As ReadJsonRows, of all files together and of the columns alone that data's format and
// data.columns name. Messages name file, "row group 3" or "batch 3", row (from 0, of the file) and
// column. Errors: those of tables::OpenTable and Table too.
base::Result<int64_t> ReadTableRows(const std::vector<std::string>& paths,
                                    const job::DataSpec& data, const TakeRow& take,
                                    const RowProgress& progress = {});

}  // namespace trainctl::data
