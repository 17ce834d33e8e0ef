// Unicode's normalization form C: canonically equal texts become one (Unicode 15, section 3.11).
#pragma once

#include <string>
#include <string_view>

namespace trainctl::data {

// text is well-formed UTF-8. Thread-safe.
std::string ToNfc(std::string_view text);

}  // namespace trainctl::data
