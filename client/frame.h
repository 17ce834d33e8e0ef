// What changes a terminal from one picture to the next: no more bytes than that takes, for slow
// lines. Pure.
#pragma once

#include <string>
#include <vector>

namespace trainctl::client {

// Rows as they go to the terminal, with sequences of colours (ESC [ … m) and no others. Of a row
// that is still there only the columns that changed are sent. One with characters that may be wider
// than a column is sent whole.
std::string FrameBytes(const std::vector<std::string>& drawn, const std::vector<std::string>& rows);

}  // namespace trainctl::client
