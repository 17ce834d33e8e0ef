// Opens files of Arrow and Parquet through libtrainctl_arrow.so, which lies in lib/trainctl beside
// the folder of the program.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "worker/rank/tables/table.h"

namespace trainctl::tables {

enum class TableFormat { kStream, kFile, kParquet };

// By the bytes that a file begins with, of which kMagicBytes are enough. nullopt: none of these.
inline constexpr size_t kMagicBytes = 8;
std::optional<TableFormat> TableFormatOf(std::string_view head);

struct TableSource {
  std::string path;
  TableFormat format = TableFormat::kStream;
  std::vector<WantedColumn> columns;
  double begin = 0;  // of Parquet: the share of its row groups that is left out
};

// kNotFound: no such file; a host without Arrow's library, and what installs it; a library of
// another version, as after an upgrade while the program runs. kInvalid: a broken file; a wanted
// column that is not there, with those that are; or one of another type. Thread-safe.
base::Result<std::unique_ptr<Table>> OpenTable(const TableSource& source);

// Loads the library now, where this host has it: files that it is of need not be found later.
void PreloadLibrary();

// What the library exports, under a name that holds the version (worker/rank/CMakeLists.txt).
using OpenTableFunction = void (*)(const TableSource& source,
                                   base::Result<std::unique_ptr<Table>>* table);

}  // namespace trainctl::tables
