// What is in the way of a folder's files: said before hours of work would end there. Both only
// look. A folder that is not there yet stands for the one that it would be made in. Thread-safe.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/result.h"

namespace trainctl::base {

// Whether this process may make files in the folder: none may in /proc and /sys, whatever their
// permissions say. kIo names the part of the path that is in the way.
Status CheckWritableFolder(const std::string& folder);

// Bytes that are free for this process on the folder's disk. kIo: the disk does not say.
Result<int64_t> FreeBytes(const std::string& folder);

}  // namespace trainctl::base
