// As much JSON as the shim needs: it passes lines on unread, but must know their "type" and a
// number or two. A key in quotes followed by a colon can't occur inside a JSON string, whose quotes
// are escaped. So a search finds the field itself, of the line or of an object in it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace trainctl::shim {

// Whether the line holds "type":"<type>". Spaces around the colon are allowed.
bool HasType(std::string_view line, std::string_view type);

// The number behind "key":, nullopt where there is none.
std::optional<double> NumberField(std::string_view line, std::string_view key);

// text as a JSON string, with its quotes. Bytes that are no ASCII pass as they are.
std::string Quoted(std::string_view text);

}  // namespace trainctl::shim
