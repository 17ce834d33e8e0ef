// -o table|json|jsonl|csv|md|name: one listing in every format. What people read may change; the
// JSON is a contract, and its first member is always "schema": "trainctl/v1". In jsonl and csv
// there is one record a line, without the schema; name is one id a line.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/show/text_table.h"
#include "common/record/document.h"

namespace trainctl::client {

using record::Json;
using record::RenderDocument;
using record::RenderLine;

enum class OutputFormat { kTable, kJson, kJsonl, kCsv, kMarkdown, kName };

inline constexpr std::string_view kOutputFormats = "table, json, jsonl, csv, md, name";

std::optional<OutputFormat> ParseOutputFormat(std::string_view name);

struct Listing {
  std::string collection;                 // the member of the JSON that holds the records: "jobs"
  std::vector<Json> records;              // objects
  TextTable table;                        // the same for people
  std::vector<std::string> columns = {};  // of CSV; empty: the keys that the records have
  std::string name_key = "id";
  Json members = Json::object();  // of the JSON, before the records
};

// One record, whose members are the columns: "token_file" is TOKEN FILE.
Listing OneRecord(std::string collection, std::string name_key, Json record);

// Ends with a newline where it is not empty.
std::string Render(const Listing& listing, OutputFormat format, const TableLayout& layout);

// RFC 4180, with a header of these keys; null is empty, lists and objects are their JSON. Without
// keys: the union of the records', in order of appearance.
std::string RenderCsv(const std::vector<Json>& records, std::vector<std::string> keys = {});
// The same in pieces, of tables that are too long to be kept.
std::string RenderCsvHeader(const std::vector<std::string>& keys);
std::string RenderCsvLine(const Json& record, const std::vector<std::string>& keys);

}  // namespace trainctl::client
