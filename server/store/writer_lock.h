// Who may write to a database: one process, whatever became of lock files beside it. Internal to
// this room.
#pragma once

#include <string>

#include "common/base/descriptor.h"
#include "common/base/result.h"

namespace trainctl::store {

// Makes the file where it is missing, for its owner only. The lock is held as long as the
// descriptor is open, which outlives this process's connections to the file. kConflict: another
// has it. kIo.
base::Result<base::Descriptor> LockForWriting(const std::string& path);

}  // namespace trainctl::store
