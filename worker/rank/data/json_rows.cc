#include "worker/rank/data/json_rows.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "worker/rank/files/json_text.h"

namespace trainctl::data {
namespace {

using nlohmann::json;

constexpr std::string_view kJsonSpace = " \t\r\n";

base::Result<int64_t> ReadList(std::string_view text, const std::string& source, int64_t max_rows,
                               const TakeRow& take, const RowProgress& progress) {
  int64_t rows = 0;
  base::Status taken = base::Ok{};
  const auto take_element = [&](const json& element, int64_t read_bytes) {
    taken = TakeJsonRow(element, source + ": [" + std::to_string(rows) + "]", take);
    if (!taken) return false;
    ++rows;
    if (progress) progress(read_bytes);
    return rows < max_rows;
  };
  const base::Status parsed = files::ParseJsonList(text, source, take_element);
  if (!parsed) return parsed.error();
  if (!taken) return taken.error();
  return rows;
}

}  // namespace

base::Status TakeJsonRow(const json& value, const std::string& place, const TakeRow& take) {
  files::Fault fault;
  const files::JsonObject row(value, place, &fault);
  base::Status taken = take(row);
  if (fault) return *fault;  // a missing key explains more than what came of it
  if (!taken) return base::Error{taken.error().code, place + ": " + taken.error().message};
  return base::Ok{};
}

base::Result<int64_t> ReadJsonLines(std::string_view text, const std::string& source,
                                    int64_t first_line, std::optional<int64_t> max_rows,
                                    const TakeRow& take, const RowProgress& progress) {
  const int64_t most = max_rows.value_or(INT64_MAX);
  const int64_t all = std::ssize(text);
  int64_t rows = 0;
  for (int64_t number = first_line; !text.empty() && rows < most; ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.find_first_not_of(kJsonSpace) == std::string_view::npos) continue;
    const std::string place = source + ": line " + std::to_string(number);
    auto value = files::ParseJsonText(line, place);
    if (!value) return value.error();
    if (auto taken = TakeJsonRow(*value, place, take); !taken) return taken.error();
    ++rows;
    if (progress) progress(all - std::ssize(text));
  }
  return rows;
}

bool IsJsonList(std::string_view text) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  const size_t first = text.find_first_not_of(kJsonSpace);
  return first != std::string_view::npos && text[first] == '[';
}

base::Result<int64_t> ReadJsonRows(std::string_view text, const std::string& source,
                                   std::optional<int64_t> max_rows, const TakeRow& take,
                                   const RowProgress& progress) {
  const bool is_list = IsJsonList(text);
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  if (!is_list) return ReadJsonLines(text, source, 1, max_rows, take, progress);
  return ReadList(text, source, max_rows.value_or(INT64_MAX), take, progress);
}

}  // namespace trainctl::data
