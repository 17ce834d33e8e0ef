// Small text files (config.json, an index): read whole, bounded.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/result.h"

namespace trainctl::files {

// Errors: kNotFound (no such file), kIo (unreadable), kInvalid (larger than max_bytes).
base::Result<std::string> ReadTextFile(const std::string& path, int64_t max_bytes);

// A regular file (or a link to one) is there.
bool FileExists(const std::string& path);

}  // namespace trainctl::files
