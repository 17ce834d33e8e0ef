// Files with a secret: a token, a key. They are for their owner alone. What is looked at is the
// open file, so that it can't be another one meanwhile.
#pragma once

#include <cstddef>
#include <string>

#include "common/base/result.h"

namespace trainctl::base {

// What the file holds, without the newline at its end. kNotFound. kDenied: others than its owner
// can read or write it; the message says how to close it. kInvalid: it is empty or too long
// (64 KiB), or no regular file. kIo.
Result<std::string> ReadSecretFile(const std::string& path);

// As ReadSecretFile. kInvalid: not one word of visible ASCII characters, which is all that a header
// of a call can carry.
Result<std::string> ReadTokenFile(const std::string& path);

// The whole file, at most max_bytes; it may be empty. As ReadSecretFile, but kDenied also for a
// file of another user than root: they could write into it what we believe.
Result<std::string> ReadOwnFile(const std::string& path, size_t max_bytes);

// Mode 0600, as WriteFileAtomically.
Status WriteSecretFile(const std::string& path, const std::string& secret);

}  // namespace trainctl::base
