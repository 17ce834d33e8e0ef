// A picture's cell, as tables::CellKind::kPicture says.
#pragma once

#include <arrow/array.h>

#include <nlohmann/json.hpp>
#include <string>

#include "worker/rank/arrow/batches.h"
#include "worker/rank/arrow/cells.h"

namespace trainctl::tables {

// Of an array of the last batch of the source, which ValidateFull has found whole. Null cells are
// null. path: the file's. Where the budget is spent within it, the value is not whole.
nlohmann::json PictureCellOf(const arrow::Array& array, int64_t index, const BatchSource& source,
                             const std::string& path, CellBudget* budget);

}  // namespace trainctl::tables
