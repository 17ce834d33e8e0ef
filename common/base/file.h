// Small whole files: configuration, plans, records. Errors name the path and what the operating
// system said. Thread-safe; two writers of one path leave one of the two contents, whole.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "common/base/result.h"

namespace trainctl::base {

// The whole file, at most max_bytes. kNotFound: no such file. kExhausted: larger than max_bytes.
// kInvalid: a directory. kIo: everything else. Pipes and files of /proc are read to their end too.
Result<std::string> ReadFile(const std::string& path, size_t max_bytes);

// As ReadFile, but never blocks on a FIFO: kInvalid for all that is no regular file.
Result<std::string> ReadRegularFile(const std::string& path, size_t max_bytes);

// Of an open file, kInvalid if it is no regular file: the message says what it is. path stands in
// messages. OpenRegular (regular_file.h) opens it so that a FIFO does not wait for its writer.
Status CheckRegular(int fd, const std::string& path);

// After success the content is on the disk under that name, also past a power failure; after an
// error or a kill the old file is still whole. Writes "<path>.<pid>.<n>.tmp" in the same folder,
// fsyncs it, renames it, fsyncs the folder. mode applies to a new file (less the process's umask).
// kNotFound: the folder is missing. kExhausted: no space or quota left. kIo: everything else.
Status WriteFileAtomically(const std::string& path, std::string_view content, unsigned mode = 0644);

// Names that were made, renamed or removed in the folder are so on the disk. A file system that
// cannot sync a folder is left at that. kNotFound: no such folder. kIo: everything else.
Status SyncFolder(const std::string& folder);

// Not empty, "." or "..", and without "/": a file's own name, which leads out of no folder.
bool IsFileName(std::string_view name);

}  // namespace trainctl::base
