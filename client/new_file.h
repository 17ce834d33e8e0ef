// Files that verbs write for -o FILE: whole or not at all, and nothing is replaced unasked, also
// where two write at once. Thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "common/base/result.h"

namespace trainctl::client {

// Before the work is done. kConflict: something is there, and must not be replaced. kNotFound: the
// folder that it would lie in is missing.
base::Status CheckNewFile(const std::string& file, bool overwrite);

// By way of a file of its own name beside it. Errors as of CheckNewFile and
// base::WriteFileAtomically.
base::Status WriteNewFile(const std::string& file, std::string_view content, bool overwrite);

// `made`, of the same file system, gets the name of `file`. kConflict: as above, and `made` is
// still there. kIo: everything else.
base::Status TakeName(const std::string& made, const std::string& file, bool overwrite);

}  // namespace trainctl::client
