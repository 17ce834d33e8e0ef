#include "common/base/regular_file.h"

#include <fcntl.h>

#include <cerrno>

#include "common/base/error_number.h"
#include "common/base/file.h"

namespace trainctl::base {

Result<Descriptor> OpenRegular(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.open()) return OsError("cannot open " + path, errno);
  if (const Status regular = CheckRegular(file.get(), path); !regular) return regular.error();
  return file;
}

}  // namespace trainctl::base
