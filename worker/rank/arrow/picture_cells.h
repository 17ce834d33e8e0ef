// A picture's cell, as tables::CellKind::kPicture says.
#pragma once

#include <arrow/array.h>

#include <nlohmann/json.hpp>
#include <string>

#include "worker/rank/arrow/batches.h"

namespace trainctl::tables {

// Of an array of the last batch of the source, which ValidateFull has found whole. Null cells are
// null. path: the file's.
nlohmann::json PictureCellOf(const arrow::Array& array, int64_t index, const BatchSource& source,
                             const std::string& path);

}  // namespace trainctl::tables
