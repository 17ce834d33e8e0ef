// Opens files that others name.
#pragma once

#include <string>

#include "common/base/descriptor.h"
#include "common/base/result.h"

namespace trainctl::base {

// To read; links are followed. A FIFO does not wait for its writer: kInvalid for all that is no
// regular file. Else as CodeOfErrno: kNotFound, kUnavailable, kIo. Thread-safe.
Result<Descriptor> OpenRegular(const std::string& path);

}  // namespace trainctl::base
