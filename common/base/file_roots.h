// Folders that files must lie in: what a host's worker lets jobs read and write there. A path is
// judged by where it truly leads, all links followed. Looking may block where a mount hangs.
// Thread-safe.
#pragma once

#include <compare>
#include <string>
#include <vector>

#include "common/base/descriptor.h"
#include "common/base/result.h"

namespace trainctl::base {

struct FileRoots {
  std::vector<std::string> read;   // besides those of write; empty: anything may be read
  std::vector<std::string> write;  // empty: anything may be written
  auto operator<=>(const FileRoots&) const = default;
};

enum class FileUse { kRead, kWrite };

// The roots that bound the use; empty: none does.
std::vector<std::string> RootsFor(const FileRoots& roots, FileUse use);

// kDenied: the path leads out of all roots that bound the use; the message names it, where it
// leads, and the roots. A path that is not there, or can't be looked at, is judged by the nearest
// folder above it; a link to nothing is refused.
Status CheckWithin(const std::string& path, FileUse use, const FileRoots& roots);
// The same by names alone, for whoever can't look at that host's disks: no link is followed.
Status CheckNamedWithin(const std::string& path, FileUse use, const FileRoots& roots);
// CheckWithin of what was opened as that path.
Status CheckWithin(const Descriptor& opened, const std::string& path, FileUse use,
                   const FileRoots& roots);
// CheckWithin of what a job names. What it writes is no folder of the site's own either
// (site_folder.h), nor in or around one.
Status CheckPathOfJob(const std::string& path, FileUse use, const FileRoots& roots);

}  // namespace trainctl::base
