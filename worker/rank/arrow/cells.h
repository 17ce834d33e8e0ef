// A cell's value as JSON, of no more memory than it may take: few bytes of a file can name many.
#pragma once

#include <arrow/array.h>

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "worker/rank/arrow/batches.h"

namespace trainctl::tables {

// The memory that JSON takes, about.
class CellBudget {
 public:
  explicit CellBudget(int64_t most_bytes) : left_bytes_(most_bytes) {}

  // A value and its name or bytes. False: there is less left, now and from now on.
  bool Take(size_t bytes) {
    constexpr int64_t kValueBytes = 128;
    left_bytes_ -= kValueBytes + static_cast<int64_t>(bytes);
    return left_bytes_ >= 0;
  }
  bool is_spent() const { return left_bytes_ < 0; }
  int64_t left_bytes() const { return left_bytes_; }

 private:
  int64_t left_bytes_;
};

// Text, and lists and structs of it. Whatever else a cell holds is null: numbers, dates, binary
// that is not UTF-8. The array is one that ValidateFull has found whole. Where the budget is spent
// within it, the value is not whole.
nlohmann::json CellOf(const arrow::Array& array, int64_t index, CellBudget* budget);

// A picture's, as tables::CellKind::kPicture says. The array is of the last batch of the source;
// path is the file's.
nlohmann::json PictureCellOf(const arrow::Array& array, int64_t index, const BatchSource& source,
                             const std::string& path, CellBudget* budget);

}  // namespace trainctl::tables
