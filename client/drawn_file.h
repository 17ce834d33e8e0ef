// Files with pictures and pages that verbs write for -o FILE: SVG and HTML as they are, PNG and PDF
// of them by a Chromium, where there is one.
#pragma once

#include <string>

#include "client/context.h"

namespace trainctl::client {

// kConflict: something is there, and must not be replaced.
base::Status CheckNewFile(const std::string& file, bool overwrite);

// SVG that is `width` × `height` pixels; a file that ends in .png gets the same drawn.
struct Picture {
  std::string svg;
  int width = 0, height = 0;
};
base::Status WritePicture(const Surroundings& surroundings, const Picture& picture,
                          const std::string& file);

// HTML; a file that ends in .pdf gets the same printed.
base::Status WritePage(const Surroundings& surroundings, const std::string& html,
                       const std::string& file);

}  // namespace trainctl::client
