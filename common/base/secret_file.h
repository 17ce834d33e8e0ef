// Files with a secret: a token, a key. They are for their owner alone.
#pragma once

#include <string>

#include "common/base/result.h"

namespace trainctl::base {

// What the file holds, without the newline at its end. kNotFound. kDenied: others than its owner
// can read or write it; the message says how to close it. kInvalid: it is empty or too long
// (64 KiB), or no regular file. kIo.
Result<std::string> ReadSecretFile(const std::string& path);

// Mode 0600, as WriteFileAtomically.
Status WriteSecretFile(const std::string& path, const std::string& secret);

}  // namespace trainctl::base
