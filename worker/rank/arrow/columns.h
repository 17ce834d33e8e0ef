// Which columns of a file are read, and whether they are what is wanted.
#pragma once

#include <arrow/type.h>

#include <string>
#include <vector>

#include "common/base/result.h"
#include "worker/rank/tables/table.h"

namespace trainctl::tables {

// The fields of the schema that are wanted, ascending. kInvalid: one is not there, is there twice,
// or has another type; the message begins with path.
base::Result<std::vector<int>> ChooseColumns(const arrow::Schema& schema,
                                             const std::vector<WantedColumn>& wanted,
                                             const std::string& path);

}  // namespace trainctl::tables
