// Pictures for terminals that show kitty's graphics: kitty, Ghostty, WezTerm.
// https://sw.kovidgoyal.net/kitty/graphics-protocol says how they are sent. Pure.
#pragma once

#include <string>

#include "client/plot/raster.h"

namespace trainctl::client {

// Shows it over so many columns and rows from the cursor on, which stays. Marked as our own
// (show/escaping.h).
std::string KittyPicture(const Raster& raster, int columns, int rows);

}  // namespace trainctl::client
