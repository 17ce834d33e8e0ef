// The rows of Arrow and Parquet files, as if they stood in a file of JSON.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/job/job.h"
#include "worker/rank/data/row_chunk.h"
#include "worker/rank/tables/table.h"

namespace trainctl::data {

// Of the columns that data's format and data.columns name. begin: a share of its row groups, where
// it has any. Errors: those of tables::OpenTable.
base::Result<std::unique_ptr<tables::Table>> OpenTableOf(const std::string& path,
                                                         const job::DataSpec& data,
                                                         double begin = 0);

// before_bytes: of the files before this one.
RowChunk ChunkOf(tables::TableRows rows, const std::string& path, int64_t before_bytes);

// Puts chunks of all files together until one is not wanted. Messages name file, "row group 3" or
// "batch 3", row (from 0, of the file) and column. Errors: those of tables::OpenTable and Table.
base::Status CutTables(const std::vector<std::string>& paths, const job::DataSpec& data,
                       const PutChunk& put);

}  // namespace trainctl::data
