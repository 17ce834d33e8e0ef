// The rows of a JSON data file: one list of objects, or JSON lines (an object a line, empty lines
// skipped). Which of the two a file is, its first character says: '['.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/result.h"
#include "worker/rank/files/json_object.h"

namespace trainctl::data {

// Takes one row; reading stops at the first error. The row's own faults (row.Text("text") of a
// missing key) end it too.
using TakeRow = std::function<base::Status(const files::JsonObject& row)>;

// One row, which place names ("rows.jsonl: line 13"): what take and the row's own faults say.
base::Status TakeJsonRow(const nlohmann::json& value, const std::string& place,
                         const TakeRow& take);

// Told after each row how many of the text's bytes are done.
using RowProgress = std::function<void(int64_t done_bytes)>;

// The first max_rows rows, in order; returns how many. Messages name source, row ("[12]", from 0)
// or line ("line 13", from 1), and key.
base::Result<int64_t> ReadJsonRows(std::string_view text, const std::string& source,
                                   std::optional<int64_t> max_rows, const TakeRow& take,
                                   const RowProgress& progress = {});

// Whether the text is one list, and no lines.
bool IsJsonList(std::string_view text);

// ReadJsonRows of lines alone, of which the first is number first_line of the source.
base::Result<int64_t> ReadJsonLines(std::string_view text, const std::string& source,
                                    int64_t first_line, std::optional<int64_t> max_rows,
                                    const TakeRow& take, const RowProgress& progress = {});

inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // some editors begin with it

}  // namespace trainctl::data
