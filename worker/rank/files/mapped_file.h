// A whole file, mapped read-only. Its pages are the kernel's page cache: no copy in anonymous
// memory, and the kernel may take them back. Thread-safe after Open. A file that somebody shortens
// while it is mapped ends the process with SIGBUS, as with every mmap.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "common/base/result.h"

namespace trainctl::files {

class MappedFile {
 public:
  // Errors: kNotFound (no such file), kInvalid (a directory, a FIFO, a device: said at once), kIo
  // (no permission, mmap refused). An empty file has empty bytes.
  static base::Result<MappedFile> Open(const std::string& path);
  // The same of an open regular file, which stays the caller's to close; path stands in messages.
  static base::Result<MappedFile> OfDescriptor(int fd, const std::string& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }
  std::string_view text() const {
    return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
  }
  const std::string& path() const { return path_; }

  // Reading goes from front to back: the kernel reads ahead further.
  void AdviseSequential() const;

  // Reading goes here and there: the kernel reads nothing around what is touched, which may be
  // megabytes otherwise. ReadSoon says what is read at once.
  void AdviseRandom() const;

  // Says that the process no longer needs these bytes resident. They leave its RSS and stay in the
  // page cache for the next run of the same model. They come back by themselves when touched again.
  void Release(std::span<const std::byte> part) const;

 private:
  MappedFile(std::string path, std::span<const std::byte> bytes)
      : path_(std::move(path)), bytes_(bytes) {}

  std::string path_;
  std::span<const std::byte> bytes_;
};

// Begins to read a part of a mapped file: who touches it then finds it there. Thread-safe.
void ReadSoon(std::span<const std::byte> part);

}  // namespace trainctl::files
