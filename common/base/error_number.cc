#include "common/base/error_number.h"

#include <cerrno>
#include <cstring>

namespace trainctl::base {

Code CodeOfErrno(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR: return Code::kNotFound;
    case ENOSPC:
    case EDQUOT: return Code::kExhausted;
    case EISDIR: return Code::kInvalid;
    case EINTR:
    case EMFILE:
    case ENFILE:
    case ENOMEM: return Code::kUnavailable;
    default: return Code::kIo;
  }
}

Error OsError(const std::string& what, int error) {
  return {CodeOfErrno(error), what + ": " + std::strerror(error)};
}

}  // namespace trainctl::base
