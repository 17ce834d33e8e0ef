// Pages that verbs write for -o FILE: HTML as it is, and PDF of it by a Chromium, where there is
// one.
#pragma once

#include <string>

#include "client/context.h"

namespace trainctl::client {

// kConflict: something is there, and must not be replaced.
base::Status CheckNewFile(const std::string& file, bool overwrite);

// HTML; a file that ends in .pdf gets the same printed.
base::Status WritePage(const Surroundings& surroundings, const std::string& html,
                       const std::string& file);

}  // namespace trainctl::client
