// The rows of a CSV file (RFC 4180): the first line names the columns; a field in quotes may hold
// commas, lines and doubled quotes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/result.h"
#include "worker/rank/data/json_rows.h"

namespace trainctl::data {

// As ReadJsonRows: each row is an object of texts, "line 13" (from 1) where it begins. Empty lines
// are skipped. kInvalid: a column without a name or twice; a row of more or fewer fields than
// columns; an open quote, or text behind a closed one.
base::Result<int64_t> ReadCsvRows(std::string_view text, const std::string& source,
                                  std::optional<int64_t> max_rows, const TakeRow& take,
                                  const RowProgress& progress = {});

}  // namespace trainctl::data
