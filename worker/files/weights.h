// The weights of a Hugging Face directory: model.safetensors, or the shards that model.safetensors.index.json names, seen as one set.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/base/result.h"
#include "worker/files/safetensors.h"

namespace trainctl::files {

// Thread-safe: immutable after Open. Nothing is read beyond the headers until Bytes are touched.
class WeightFiles {
 public:
  // Errors: kNotFound (no directory, no weights, a shard that the index names is missing), kIo, kInvalid (a broken file or index, a tensor
  // that its shard does not hold or that two shards hold, only pytorch_model*.bin: "not yet"). Messages name file and tensor.
  static base::Result<WeightFiles> Open(const std::string& directory);

  // nullptr: no such tensor.
  const TensorInfo* Find(std::string_view name) const;

  // CHECKs that the tensor is there. Alignment: see SafetensorsFile::Bytes.
  std::span<const std::byte> Bytes(std::string_view name) const;

  // The tensor was copied to its device: its pages need not stay resident (they remain in the page cache).
  void Release(std::string_view name) const;

  // Shard by shard, within a shard in the order of the bytes: the order in which reading is sequential.
  const std::vector<std::string>& names() const { return names_; }
  int64_t total_bytes() const { return total_bytes_; }

 private:
  struct Place {
    size_t shard = 0;
    const TensorInfo* info = nullptr;  // owned by the shard: a moved vector keeps its elements
  };
  WeightFiles() = default;
  base::Status Add(SafetensorsFile file);
  const Place* FindPlace(std::string_view name) const;

  std::vector<SafetensorsFile> shards_;
  std::unordered_map<std::string, Place> places_;
  std::vector<std::string> names_;
  int64_t total_bytes_ = 0;
};

}  // namespace trainctl::files
