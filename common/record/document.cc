#include "common/record/document.h"

namespace trainctl::record {

std::string Dump(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::string RenderDocument(const Json& members) {
  Json document = {{"schema", "trainctl/v1"}};
  document.update(members);
  return Dump(document, 2) + "\n";
}

std::string RenderLine(const Json& record) { return Dump(record, -1) + "\n"; }

Json Seconds(int64_t micros) { return Known(micros != 0, static_cast<double>(micros) / 1e6); }

Json Parsed(const std::string& text) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  return json.is_discarded() ? Json(nullptr) : json;
}

}  // namespace trainctl::record
