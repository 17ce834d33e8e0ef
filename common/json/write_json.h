// JsonNode → JSON text. Numbers are the shortest that read back equal. Non-finite reals, which JSON
// lacks, become the strings "NaN", "Infinity" and "-Infinity", as in protobuf's JSON. Bytes that
// are not UTF-8 become U+FFFD. Pure.
#pragma once

#include <string>

#include "common/json/json_node.h"

namespace trainctl::job {

std::string WriteJson(const JsonNode& node);          // one line
std::string WriteIndentedJson(const JsonNode& node);  // two spaces, for people; ends in a newline

}  // namespace trainctl::job
