#include "worker/rank/data/csv_rows.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

namespace trainctl::data {
namespace {

constexpr std::string_view kUtf8Mark = "\xEF\xBB\xBF";  // Excel begins a file with it

base::Error CsvError(const std::string& place, const std::string& message) {
  return {base::Code::kInvalid, place + ": " + message};
}

// Takes one record after another.
class CsvReader {
 public:
  CsvReader(std::string_view text, const std::string& source) : rest_(text), source_(source) {}

  bool AtEnd() const { return rest_.empty(); }
  size_t rest() const { return rest_.size(); }
  // Of the record that was read last.
  std::string place() const { return source_ + ": line " + std::to_string(record_line_); }

  // Its fields; one empty field of an empty line.
  base::Result<std::vector<std::string>> Record() {
    record_line_ = line_;
    std::vector<std::string> fields;
    while (true) {
      auto field = Field();
      if (!field) return field.error();
      fields.push_back(std::move(field).value());
      if (rest_.starts_with(',')) {
        rest_.remove_prefix(1);
        continue;
      }
      if (rest_.starts_with('\r')) rest_.remove_prefix(1);
      if (rest_.starts_with('\n')) rest_.remove_prefix(1);
      ++line_;
      return fields;
    }
  }

 private:
  // Up to the comma or the line's end, which stays.
  base::Result<std::string> Field() {
    if (rest_.starts_with('"')) return QuotedField();
    size_t end = std::min(rest_.find_first_of(",\n"), rest_.size());
    if (end > 0 && end < rest_.size() && rest_[end] == '\n' && rest_[end - 1] == '\r') --end;
    std::string field(rest_.substr(0, end));
    rest_.remove_prefix(end);
    return field;
  }

  base::Result<std::string> QuotedField() {
    std::string field;
    rest_.remove_prefix(1);
    while (true) {
      const size_t quote = rest_.find('"');
      if (quote == std::string_view::npos) return CsvError(place(), "a quote that nothing closes");
      field += rest_.substr(0, quote);
      line_ += std::ranges::count(rest_.substr(0, quote), '\n');
      rest_.remove_prefix(quote + 1);
      if (!rest_.starts_with('"')) break;
      field += '"';
      rest_.remove_prefix(1);
    }
    if (!rest_.empty() && !rest_.starts_with(',') && !rest_.starts_with('\n') &&
        !rest_.starts_with("\r\n"))
      return CsvError(place(), "text behind a closing quote");
    return field;
  }

  std::string_view rest_;
  const std::string& source_;
  int64_t line_ = 1;
  int64_t record_line_ = 1;
};

base::Status CheckColumns(const std::vector<std::string>& columns, const std::string& place) {
  std::set<std::string> known;
  for (const std::string& column : columns) {
    if (column.empty()) return CsvError(place, "a column without a name");
    if (!known.insert(column).second) return CsvError(place, "two columns '" + column + "'");
  }
  return base::Ok{};
}

base::Status TakeRecord(const std::vector<std::string>& columns, std::vector<std::string> fields,
                        const std::string& place, const TakeRow& take) {
  if (fields.size() != columns.size()) {
    return CsvError(place, std::to_string(fields.size()) + " fields, expected " +
                               std::to_string(columns.size()));
  }
  nlohmann::json object = nlohmann::json::object();
  for (size_t i = 0; i < columns.size(); ++i) object[columns[i]] = std::move(fields[i]);
  return TakeJsonRow(object, place, take);
}

}  // namespace

base::Result<int64_t> ReadCsvRows(std::string_view text, const std::string& source,
                                  std::optional<int64_t> max_rows, const TakeRow& take,
                                  const RowProgress& progress) {
  const size_t all = text.size();
  if (text.starts_with(kUtf8Mark)) text.remove_prefix(kUtf8Mark.size());
  CsvReader reader(text, source);
  const auto columns = reader.Record();
  if (!columns) return columns.error();
  if (auto good = CheckColumns(*columns, reader.place()); !good) return good.error();
  int64_t rows = 0;
  while (!reader.AtEnd() && rows < max_rows.value_or(INT64_MAX)) {
    auto fields = reader.Record();
    if (!fields) return fields.error();
    if (fields->size() == 1 && fields->front().empty()) continue;
    if (auto taken = TakeRecord(*columns, std::move(*fields), reader.place(), take); !taken)
      return taken.error();
    ++rows;
    if (progress) progress(static_cast<int64_t>(all - reader.rest()));
  }
  return rows;
}

}  // namespace trainctl::data
