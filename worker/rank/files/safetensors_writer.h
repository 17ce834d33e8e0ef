// Writing a safetensors file (format: safetensors.h) piece by piece, so that no whole copy of a
// model is ever in memory.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "worker/rank/files/tensor_info.h"

namespace trainctl::files {

// All tensors are declared first; their bytes follow in the same order, in pieces of any size. The
// file is written as "<path>.writing", and Finish syncs and renames it. So it appears under its
// name only when it is whole. Not thread-safe.
class SafetensorsWriter {
 public:
  // name, dtype and shape of each tensor; begin and end are ignored and computed. {"format": "pt"}
  // is the metadata. Errors: kInvalid (a name twice, an impossible shape, a header beyond 100 MB),
  // kNotFound (no such folder), kIo, kExhausted (disk full).
  static base::Result<SafetensorsWriter> Create(const std::string& path,
                                                std::vector<TensorInfo> tensors);

  SafetensorsWriter(SafetensorsWriter&& other) noexcept;
  SafetensorsWriter& operator=(SafetensorsWriter&&) = delete;
  ~SafetensorsWriter();  // without Finish, what was written is removed

  // The next bytes. More than was declared is the programmer's error (CHECK). Errors: kIo,
  // kExhausted.
  base::Status Append(std::span<const std::byte> bytes);

  // All declared bytes are there (CHECK). Syncs file and directory. Errors: kIo, kExhausted.
  base::Status Finish();

  const std::vector<TensorInfo>& tensors() const { return tensors_; }
  int64_t total_bytes() const { return tensors_.empty() ? 0 : tensors_.back().end; }

 private:
  SafetensorsWriter(std::string path, std::vector<TensorInfo> tensors, int fd);
  base::Status Write(std::span<const std::byte> bytes);
  void SyncBehind();

  std::string path_;
  std::vector<TensorInfo> tensors_;
  int fd_ = -1;  // -1: moved from or finished
  int64_t appended_bytes_ = 0;
  int64_t written_bytes_ = 0;  // of the file, its header included
  int64_t sync_begun_ = 0;     // of these
};

}  // namespace trainctl::files
