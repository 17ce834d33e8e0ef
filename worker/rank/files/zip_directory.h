// The directory of a zip archive whose entries are stored, not compressed: what torch.save writes
// (PKWARE APPNOTE.TXT 6.3.10, zip64 included).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"

namespace trainctl::files {

struct ZipEntry {
  std::string_view name;
  std::span<const std::byte> bytes;
};

// Of the whole file's bytes, into which the entries point. kInvalid names source, entry and fault:
// no archive, a compressed or encrypted entry, several disks, a place outside of the file, a name
// twice.
base::Result<std::vector<ZipEntry>> ReadZipDirectory(std::span<const std::byte> file,
                                                     const std::string& source);

}  // namespace trainctl::files
