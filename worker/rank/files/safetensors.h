// Reading a safetensors file: mapped, and validated whole before the first byte is used.
//   u64 (little endian) header length N ≤ 100 MB
//   N bytes of JSON:
//       {"name": {"dtype": "BF16", "shape": [2, 3], "data_offsets": [begin, end]}, …,
//        "__metadata__": {"format": "pt"}}
//   the tensors' bytes, little endian, row-major
// Offsets count from the end of the header; the tensors cover the rest of the file without holes
// and without overlaps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/base/result.h"
#include "worker/rank/files/mapped_file.h"
#include "worker/rank/files/tensor_info.h"

namespace trainctl::files {

inline constexpr uint64_t kMaxHeaderBytes = 100'000'000;

struct SafetensorsHeader {
  std::vector<TensorInfo> tensors;  // in the order of their bytes
  std::map<std::string, std::string> metadata;
  int64_t data_begin = 0;  // bytes from the start of the file
};

// Of the whole file's bytes. kInvalid names source, tensor and fault.
base::Result<SafetensorsHeader> ParseSafetensorsHeader(std::span<const std::byte> file,
                                                       const std::string& source);

// Thread-safe: immutable after Open. Spans live as long as the object (moves included).
class SafetensorsFile {
 public:
  // Errors: kNotFound, kIo, kInvalid (a header that breaks a rule above; the message names file and
  // tensor).
  static base::Result<SafetensorsFile> Open(const std::string& path);

  const std::vector<TensorInfo>& tensors() const { return header_.tensors; }
  const std::map<std::string, std::string>& metadata() const { return header_.metadata; }
  const std::string& path() const { return file_.path(); }
  const MappedFile& file() const { return file_; }

  // nullptr: no such tensor.
  const TensorInfo* Find(std::string_view name) const;

  // The info is one of this file's. Not aligned beyond what the file gives (8 bytes in files of
  // common writers): copy, do not cast blindly.
  std::span<const std::byte> Bytes(const TensorInfo& info) const;

  // See MappedFile: after a tensor was copied to its device, its pages need not stay resident.
  void AdviseSequential() const { file_.AdviseSequential(); }
  void Release(const TensorInfo& info) const { file_.Release(Bytes(info)); }

 private:
  SafetensorsFile(MappedFile file, SafetensorsHeader header);

  MappedFile file_;
  SafetensorsHeader header_;
  std::unordered_map<std::string, size_t> by_name_;
};

}  // namespace trainctl::files
