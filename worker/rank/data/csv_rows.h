// The rows of a CSV file (RFC 4180): the first line names the columns; a field in quotes may hold
// commas, lines and doubled quotes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "worker/rank/data/json_rows.h"

namespace trainctl::data {

struct CsvHead {
  std::vector<std::string> columns;
  size_t bytes = 0;  // of the text, up to the first record
  int64_t lines = 1;
};

// kInvalid: a column without a name, or twice.
base::Result<CsvHead> ReadCsvHead(std::string_view text, const std::string& source);

// Each record is an object of texts, "line 13" where it begins, counted from `line`. Empty lines
// are skipped. kInvalid: a row of more or fewer fields than columns; an open quote, or text behind
// a closed one.
base::Status ReadCsvRecords(const std::vector<std::string>& columns, std::string_view text,
                            const std::string& source, int64_t line, const TakeRow& take);

// Of the record that begins there: behind its line's end.
size_t CsvRecordEnd(std::string_view text, size_t begin);

// Where a record begins behind a place that may lie within quotes: behind the first line's end from
// which records of so many columns follow. Else behind the first line's end. The text's size: there
// is none.
size_t CsvRecordBehind(std::string_view text, size_t place, size_t columns);

}  // namespace trainctl::data
