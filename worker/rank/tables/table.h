// Rows of a file in one of Apache Arrow's formats: a stream (what save_to_disk of Hugging Face's
// datasets writes), a file (Feather) or Parquet. Behind this header lies a library of its own,
// loaded only when such a file is met (open_table.h).
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/base/result.h"

namespace trainctl::tables {

enum class CellKind {
  kText,   // strings of any encoding; binary that is UTF-8
  kTurns,  // lists of structs
  // Text, a path: as it is. Bytes, or datasets' struct of bytes and path: {"name": the path, if
  // any} with {"bytes": binary} beside it, or {"file", "begin", "size"} where they lie there as
  // they are.
  kPicture,
};

// A column that is read: the first of these names that the file has.
struct WantedColumn {
  std::vector<std::string> names;
  CellKind kind = CellKind::kText;
  bool is_optional = false;
};

// Some rows, one behind the other. What a struct holds beside text, lists and structs is null.
struct TableRows {
  std::vector<nlohmann::json> rows;  // objects of the wanted columns; empty: the file's end
  std::string place;                 // "row group 3", "batch 3"
  int64_t first_row = 0;             // of the file, from 0
  int64_t done_bytes = 0;            // of the file, about
};

// Holds a batch, in the page cache where it is not compressed, or some pages of Parquet. And the
// rows that it gave last. Not thread-safe.
class Table {
 public:
  virtual ~Table() = default;

  // At most kRowsAtOnce, and no more when they take kBytesAtOnce. kInvalid: names file, batch or
  // row group, and column. kExhausted: a batch that takes more memory than kMostBytes, or a row
  // that takes more than kMostRowBytes as JSON.
  virtual base::Result<TableRows> Next() = 0;

  // Rows of the whole file, as its index has it; −1: it has none, a stream.
  virtual int64_t all_rows() const = 0;

  static constexpr int64_t kRowsAtOnce = 512;
  static constexpr int64_t kBytesAtOnce = 16 << 20;
  static constexpr int64_t kMostBytes = int64_t{1} << 30;
  static constexpr int64_t kMostRowBytes = 256 << 20;
};

}  // namespace trainctl::tables
