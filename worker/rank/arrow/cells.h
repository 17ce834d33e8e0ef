// A cell's value as JSON.
#pragma once

#include <arrow/array.h>

#include <nlohmann/json.hpp>

namespace trainctl::tables {

// Text, and lists and structs of it. Whatever else a cell holds is null: numbers, dates, binary
// that is not UTF-8. The array is one that ValidateFull has found whole.
nlohmann::json CellOf(const arrow::Array& array, int64_t index);

}  // namespace trainctl::tables
