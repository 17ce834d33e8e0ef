// Confines a process to folders by the kernel's Landlock. A file elsewhere can't be opened, made,
// renamed or removed any more, by whatever name or link: EACCES. What a check by path can't hold
// against whoever changes links meanwhile, this does.
#pragma once

#include <string>
#include <vector>

#include "common/base/file_roots.h"
#include "common/base/result.h"

namespace trainctl::base {

struct FileFence {
  FileRoots roots;                      // what has none stays open
  std::vector<std::string> also_read;   // besides the system's own, and where libraries lie
  std::vector<std::string> also_write;  // and read
};

// Whether this kernel has Landlock.
bool HasFileFence();

// Encloses the calling thread, and what it starts from now on, for good. Devices, /proc and the
// system's folders stay open, and the folders of the files that are mapped now. Folders that are
// not there are passed over. Two that enclosed themselves can't take each other's descriptors
// (pidfd_getfd). Without Landlock nothing is enclosed. kIo: the kernel refused.
Status Enclose(const FileFence& fence);

}  // namespace trainctl::base
