#include "client/show/output.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "client/show/format.h"

namespace trainctl::client {
namespace {

constexpr struct {
  std::string_view name;
  OutputFormat format;
} kFormats[] = {
    {"table", OutputFormat::kTable}, {"json", OutputFormat::kJson},
    {"jsonl", OutputFormat::kJsonl}, {"csv", OutputFormat::kCsv},
    {"md", OutputFormat::kMarkdown}, {"name", OutputFormat::kName},
};

std::string CsvField(const Json& value) {
  if (value.is_null()) return "";
  const std::string text = value.is_string() ? value.get<std::string>() : record::Dump(value, -1);
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::vector<std::string> KeysOf(const std::vector<Json>& records) {
  std::vector<std::string> keys;
  for (const Json& record : records) {
    for (const auto& [key, value] : record.items()) {
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
    }
  }
  return keys;
}

std::string RenderLines(const std::vector<Json>& records) {
  std::string text;
  for (const Json& record : records) text += RenderLine(record);
  return text;
}

std::string RenderNames(const Listing& listing) {
  std::string text;
  for (const Json& record : listing.records) {
    const Json name = record.value(listing.name_key, Json(""));
    text += (name.is_string() ? name.get<std::string>() : name.dump()) + "\n";
  }
  return text;
}

std::string HeaderOf(std::string key) {
  std::ranges::transform(key, key.begin(), [](unsigned char c) {
    return c == '_' ? ' ' : static_cast<char>(std::toupper(c));
  });
  return key;
}

std::string CellOf(const Json& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return record::Dump(value, -1);
  std::vector<std::string> items;
  for (const Json& item : value) items.push_back(CellOf(item));
  return Join(items, ", ");
}

}  // namespace

Listing OneRecord(std::string collection, std::string name_key, Json record) {
  std::vector<TextColumn> columns;
  std::vector<TextCell> cells;
  for (const auto& [key, value] : record.items()) {
    columns.push_back({.header = HeaderOf(key), .right = value.is_number()});
    cells.emplace_back(CellOf(value));
  }
  Listing listing{.collection = std::move(collection),
                  .records = {std::move(record)},
                  .table = TextTable(std::move(columns)),
                  .name_key = std::move(name_key)};
  listing.table.AddRow(std::move(cells));
  return listing;
}

std::optional<OutputFormat> ParseOutputFormat(std::string_view name) {
  for (const auto& format : kFormats) {
    if (format.name == name) return format.format;
  }
  return std::nullopt;
}

std::string RenderCsv(const std::vector<Json>& records, std::vector<std::string> keys) {
  if (keys.empty()) keys = KeysOf(records);
  if (keys.empty()) return "";
  std::string text = RenderCsvHeader(keys);
  for (const Json& record : records) text += RenderCsvLine(record, keys);
  return text;
}

std::string RenderCsvHeader(const std::vector<std::string>& keys) {
  std::string text;
  for (const std::string& key : keys) text += (&key == &keys.front() ? "" : ",") + CsvField(key);
  return text + "\n";
}

std::string RenderCsvLine(const Json& record, const std::vector<std::string>& keys) {
  std::string text;
  for (const std::string& key : keys) {
    if (&key != &keys.front()) text += ",";
    if (record.contains(key)) text += CsvField(record[key]);
  }
  return text + "\n";
}

std::string Render(const Listing& listing, OutputFormat format, const TableLayout& layout) {
  switch (format) {
    case OutputFormat::kTable: return listing.table.Render(layout);
    case OutputFormat::kMarkdown: return listing.table.Markdown();
    case OutputFormat::kCsv: return RenderCsv(listing.records, listing.columns);
    case OutputFormat::kJsonl: return RenderLines(listing.records);
    case OutputFormat::kName: return RenderNames(listing);
    case OutputFormat::kJson: {
      Json document = listing.members;
      document[listing.collection] = listing.records;
      return RenderDocument(document);
    }
  }
  return "";
}

}  // namespace trainctl::client
