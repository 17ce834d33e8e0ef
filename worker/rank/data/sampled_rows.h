// A part of a large data set's rows, from here and there.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/result.h"
#include "common/job/job.h"
#include "worker/rank/data/data_files.h"
#include "worker/rank/data/row_chunk.h"
#include "worker/rank/data/row_lines.h"
#include "worker/rank/data/sample_size.h"

namespace trainctl::data {

// Puts whole rows from each place; messages name it, and count lines from there on. Returns the
// share of the text's bytes that was put. lines outlives what is put.
double SampleLines(const RowLines& lines, const std::string& source, const SampleSize& size,
                   const PutChunk& put);

// Puts the first rows of row groups, or of files that have none. Returns the share of all rows that
// was put: files say how many they have, or it is reckoned from bytes. Errors: those of CutTables.
base::Result<double> SampleTables(const DataFiles& files, const job::DataSpec& data,
                                  const SampleSize& size, const PutChunk& put);

}  // namespace trainctl::data
