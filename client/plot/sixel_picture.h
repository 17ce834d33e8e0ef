// Pictures for terminals that show sixels: xterm -ti vt340, foot, mlterm, WezTerm, Windows
// Terminal. https://vt100.net/docs/vt3xx-gp/chapter14.html says how they are sent. Pure.
#pragma once

#include <string>

#include "client/plot/raster.h"

namespace trainctl::client {

// Shows its pixels from the cursor on, which moves. Marked as our own (show/escaping.h).
std::string SixelPicture(const Raster& raster);

}  // namespace trainctl::client
