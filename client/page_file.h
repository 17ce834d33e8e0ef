// Pages that verbs write for -o FILE: HTML as it is, and PDF of it by a Chromium, where there is
// one.
#pragma once

#include <string>

#include "client/context.h"

namespace trainctl::client {

// HTML; a file that ends in .pdf gets the same printed. Errors as of WriteNewFile (new_file.h).
// kNotFound: no Chromium is on the path.
base::Status WritePage(const Surroundings& surroundings, const std::string& html,
                       const std::string& file, bool overwrite);

}  // namespace trainctl::client
