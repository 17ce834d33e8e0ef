// What errno says, as a code. Pure.
#pragma once

#include "common/base/result.h"

namespace trainctl::base {

// kNotFound, kExhausted (no room), kInvalid (a folder), else kIo.
Code CodeOfErrno(int error);

}  // namespace trainctl::base
