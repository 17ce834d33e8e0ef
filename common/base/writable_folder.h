// Said before hours of work would end there.
#pragma once

#include <string>

#include "common/base/result.h"

namespace trainctl::base {

// Whether this process may make files in the folder, or, where it is not there yet, make it. Only
// looks. kIo names the part of the path that is in the way.
Status CheckWritableFolder(const std::string& folder);

}  // namespace trainctl::base
