// The weights of a model's directory, whatever wrote it, seen as one set of tensors with Hugging
// Face's names. Taken in this order:
//   model.safetensors, or the shards that model.safetensors.index.json names
//   pytorch_model.bin, or the shards that pytorch_model.bin.index.json names (torch_file.h)
//   lit_model.pth, LitGPT's (litgpt_names.h), with the config.json or model_config.yaml beside it
// Names that begin with "decoder.", as OPT is published, are completed to "model.decoder.".
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "common/base/result.h"
#include "worker/rank/files/safetensors.h"
#include "worker/rank/files/torch_file.h"

namespace trainctl::files {

// Whether a file or an index of weights is in the directory, whole or not.
bool HasWeights(const std::string& directory);

// Thread-safe: immutable after Open. Nothing is read beyond headers and pickles until the tensors'
// bytes are touched.
class WeightFiles {
 public:
  // Errors: kNotFound (no directory, no weights, a shard that the index names is missing), kIo,
  // kInvalid. kInvalid: a broken file or index, or a tensor that its shard does not hold or that
  // two shards hold. kInvalid too: a tensor of LitGPT's that a LLaMA does not have. Messages name
  // file and tensor.
  static base::Result<WeightFiles> Open(const std::string& directory);

  // nullptr: no such tensor. begin and end are 0 where the tensor is not one piece of its file.
  const TensorInfo* Find(std::string_view name) const;

  const std::string& directory() const { return directory_; }
  // Of the tensor's file. CHECKs that the tensor is there.
  const std::string& PathOf(std::string_view name) const;

  // The tensor's rows in order, in runs of whole rows: one run, but for LitGPT's older packing of
  // q, k and v. CHECKs that the tensor is there. Alignment: see SafetensorsFile::Bytes.
  const std::vector<std::span<const std::byte>>& Runs(std::string_view name) const;

  // The tensor was copied to its device: its pages need not stay resident (they remain in the page
  // cache).
  void Release(std::string_view name) const;

  // Shard by shard, within a shard in the order of the bytes: the order in which reading is
  // sequential.
  const std::vector<std::string>& names() const { return names_; }
  int64_t total_bytes() const { return total_bytes_; }

 private:
  struct Place {
    TensorInfo info;
    size_t file = 0;
    std::vector<std::span<const std::byte>> runs;
  };
  WeightFiles() = default;
  base::Status AddFile(const std::string& path);
  base::Status AddShards(const std::string& directory, const std::string& index);
  base::Status AddLitGpt(const std::string& directory);
  base::Status AddPlace(Place place);
  base::Status CompleteNames();
  const MappedFile& FileOf(const Place& place) const;
  const Place* FindPlace(std::string_view name) const;

  std::string directory_;
  std::vector<std::variant<SafetensorsFile, TorchFile>> files_;
  std::unordered_map<std::string, Place> places_;
  std::vector<std::string> names_;
  int64_t total_bytes_ = 0;
};

}  // namespace trainctl::files
