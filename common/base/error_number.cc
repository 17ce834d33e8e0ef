#include "common/base/error_number.h"

#include <cerrno>

namespace trainctl::base {

Code CodeOfErrno(int error) {
  if (error == ENOENT || error == ENOTDIR) return Code::kNotFound;
  if (error == ENOSPC || error == EDQUOT) return Code::kExhausted;
  if (error == EISDIR) return Code::kInvalid;
  return Code::kIo;
}

}  // namespace trainctl::base
