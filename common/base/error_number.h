// What errno says, as a code and as an error: the one mapping. Pure.
#pragma once

#include <string>

#include "common/base/result.h"

namespace trainctl::base {

// kNotFound, kExhausted (no room), kInvalid (a folder), kUnavailable, else kIo. kUnavailable:
// interrupted, too many open files, no memory; trying again may help. Where a header says kIo,
// kUnavailable may come too.
Code CodeOfErrno(int error);

// "cannot open /a: No such file or directory", of what was tried.
Error OsError(const std::string& what, int error);

}  // namespace trainctl::base
