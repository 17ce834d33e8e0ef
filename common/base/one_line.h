// A text of several lines where there is room for one. Pure.
#pragma once

#include <string>
#include <string_view>

namespace trainctl::base {

// Line ends, carriage returns and tabs as \n, \r and \t. A backslash becomes two, so that each line
// stands for one text only.
std::string OnOneLine(std::string_view text);

}  // namespace trainctl::base
