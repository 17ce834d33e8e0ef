// Which file lies under a name, and since when it is as it is.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/result.h"

namespace trainctl::files {

// Equal ones are of the same bytes, unless these were changed within a tick of the file system's
// clock.
struct FileIdentity {
  uint64_t device = 0, inode = 0;
  int64_t bytes = 0;
  int64_t modified_ns = 0, changed_ns = 0;  // since 1970

  bool operator==(const FileIdentity&) const = default;
};

// Of what a link leads to. kNotFound; kIo.
base::Result<FileIdentity> IdentityOf(const std::string& path);

}  // namespace trainctl::files
