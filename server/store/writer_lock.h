// Who may write to a database: one process, whatever became of lock files beside it. Internal to
// this room.
#pragma once

#include <string>

#include "common/base/descriptor.h"
#include "common/base/result.h"

namespace trainctl::store {

// What to do about a file that can't be written to.
inline constexpr const char* kMakeWritable = ": make the file, its folder and its disk writable";

// The system's error of opening the file to write, and what to do about it.
base::Error CannotWrite(const std::string& path, int error);

// Makes the file where it is missing, for its owner only. The lock is held as long as the
// descriptor is open, which outlives this process's connections to the file. kConflict: another
// has it. kIo.
base::Result<base::Descriptor> LockForWriting(const std::string& path);

}  // namespace trainctl::store
