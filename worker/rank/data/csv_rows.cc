#include "worker/rank/data/csv_rows.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

namespace trainctl::data {
namespace {

base::Error CsvError(const std::string& place, const std::string& message) {
  return {base::Code::kInvalid, place + ": " + message};
}

// Takes one record after another.
class CsvReader {
 public:
  CsvReader(std::string_view text, const std::string& source, int64_t line)
      : rest_(text), source_(source), line_(line) {}

  bool AtEnd() const { return rest_.empty(); }
  size_t rest() const { return rest_.size(); }
  int64_t line() const { return line_; }  // of the next record
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
  int64_t line_;
  int64_t record_line_ = 0;
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

// Behind the quote that closes the one at `quote`; nullopt: nothing does.
std::optional<size_t> QuotedEnd(std::string_view text, size_t quote) {
  size_t at = quote;
  do {
    at = text.find('"', at + 1);
    if (at == std::string_view::npos) return std::nullopt;
    ++at;
  } while (at < text.size() && text[at] == '"');
  return at;
}

// Of a whole record; nullopt: a quote stands where none may.
std::optional<size_t> FieldsOf(std::string_view record) {
  if (record.ends_with('\n')) record.remove_suffix(1);
  if (record.ends_with('\r')) record.remove_suffix(1);
  for (size_t fields = 1, at = 0;; ++fields, ++at) {
    if (at < record.size() && record[at] == '"') {
      const auto end = QuotedEnd(record, at);
      if (!end) return std::nullopt;
      at = *end;
      if (at < record.size() && record[at] != ',') return std::nullopt;
    } else {
      at = record.find_first_of(",\"", at);
      if (at != std::string_view::npos && record[at] == '"') return std::nullopt;
    }
    if (at >= record.size()) return fields;
  }
}

// Whether so many records at the text's begin look like what they should.
bool BeginsWithRecords(std::string_view text, size_t columns) {
  constexpr int kRecords = 16;
  constexpr size_t kMostBytes = 256 << 10;
  const bool is_cut = text.size() > kMostBytes;
  text = text.substr(0, kMostBytes);
  size_t begin = 0;
  for (int record = 0; record < kRecords && begin < text.size(); ++record) {
    const size_t end = CsvRecordEnd(text, begin);
    if (is_cut && end == text.size()) return record > 0;
    const std::string_view whole = text.substr(begin, end - begin);
    const bool is_empty = whole.find_first_not_of("\r\n") == std::string_view::npos;
    if (!is_empty && FieldsOf(whole) != columns) return false;
    begin = end;
  }
  return true;
}

}  // namespace

base::Result<CsvHead> ReadCsvHead(std::string_view text, const std::string& source) {
  const size_t all = text.size();
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  CsvReader reader(text, source, 1);
  auto columns = reader.Record();
  if (!columns) return columns.error();
  if (auto good = CheckColumns(*columns, reader.place()); !good) return good.error();
  return CsvHead{std::move(*columns), all - reader.rest(), reader.line() - 1};
}

base::Status ReadCsvRecords(const std::vector<std::string>& columns, std::string_view text,
                            const std::string& source, int64_t line, const TakeRow& take) {
  CsvReader reader(text, source, line);
  while (!reader.AtEnd()) {
    auto fields = reader.Record();
    if (!fields) return fields.error();
    if (fields->size() == 1 && fields->front().empty()) continue;
    if (auto taken = TakeRecord(columns, std::move(*fields), reader.place(), take); !taken)
      return taken;
  }
  return base::Ok{};
}

size_t CsvRecordEnd(std::string_view text, size_t begin) {
  for (size_t at = begin; at < text.size();) {
    if (text[at] == '"') at = QuotedEnd(text, at).value_or(text.size());
    at = text.find_first_of(",\n", at);
    if (at == std::string_view::npos) break;
    if (text[at++] == '\n') return at;
  }
  return text.size();
}

size_t CsvRecordBehind(std::string_view text, size_t place, size_t columns) {
  constexpr int kMostLines = 64;
  size_t first = text.size();
  for (int line = 0; line < kMostLines; ++line) {
    place = text.find('\n', place);
    if (place == std::string_view::npos) break;
    ++place;
    if (line == 0) first = place;
    if (BeginsWithRecords(text.substr(place), columns)) return place;
  }
  return first;
}

}  // namespace trainctl::data
