// A model's weights as safetensors files of a Hugging Face directory: model.safetensors, or shards
// with their index where that would be larger than a shard may be. What an earlier run left there
// under the other form is removed at the end, since readers would prefer it.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/base/saved_folder.h"
#include "worker/rank/files/tensor_info.h"
#include "worker/rank/state/tensor_files.h"

namespace trainctl::train {

constexpr int64_t kMostShardBytes = 5'000'000'000;  // as transformers' save_pretrained

// As TensorFile: a rank that does not write, or whose writing has failed, takes tensors all the
// same and drops them. Not thread-safe.
class ModelFiles {
 public:
  explicit ModelFiles(at::ScalarType type, int64_t most_shard_bytes = kMostShardBytes)
      : type_(type), most_shard_bytes_(most_shard_bytes) {}

  // In the order in which they are appended.
  void Declare(const std::string& name, std::vector<int64_t> shape);
  // Files are made in this folder from here on.
  void Create(const std::string& directory);
  void Fail(base::Error error);
  void Append(const at::Tensor& values);
  // Errors: the first of Fail and Append; kIo, kExhausted, kInvalid (a number is out of the range
  // of the files' type; it names the tensor).
  base::Status Finish();

 private:
  struct Declared {
    std::string name;
    std::vector<int64_t> shape;
    int64_t bytes = 0;
  };
  struct Shard {
    size_t first = 0, end = 0;  // of declared_
    std::string name;
  };
  void PlanShards();
  void BeginShard();
  void EndShard();
  base::Status WriteIndex() const;

  const at::ScalarType type_;
  const int64_t most_shard_bytes_;
  std::vector<Declared> declared_;
  std::vector<Shard> shards_;
  std::string directory_;  // "": nothing is written
  size_t shard_ = 0, tensor_ = 0;
  std::optional<TensorFile> file_;
  std::optional<base::Error> error_;
};

// After a model has come to the directory from elsewhere: the form that it does not have is removed
// there. Errors: kIo.
base::Status KeepOneForm(const std::string& directory, const base::SavedRecord& saved);

}  // namespace trainctl::train
