// JSON of the contract, as every -o json and the dashboard have it: its type, and a document's
// text. Pure, thread-safe.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace trainctl::record {

using Json = nlohmann::ordered_json;

// Text that is no UTF-8 is replaced, never an exception. indent -1: on one line.
std::string Dump(const Json& json, int indent);

// {"schema": "trainctl/v1", …members}, indented, with a newline.
std::string RenderDocument(const Json& members);
std::string RenderLine(const Json& record);  // on one line, with a newline

// null for 0: a time that is not known.
Json Seconds(int64_t micros);

// What the coordinator stored as JSON; null where there is none.
Json Parsed(const std::string& text);

template <class T>
Json Known(bool known, const T& value) {
  return known ? Json(value) : Json(nullptr);
}

inline Json TextOrNull(const std::string& text) { return Known(!text.empty(), text); }

}  // namespace trainctl::record
