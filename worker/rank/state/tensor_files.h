// Writing tensors of a strategy to a safetensors file, while other ranks take part in gathering
// them.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "worker/rank/files/safetensors_writer.h"

namespace trainctl::train {

// One file of tensors of one dtype. A rank that does not write, or whose writing has failed, takes
// tensors all the same and drops them: the gathers of other ranks go on, and the first error is
// told at the end. Not thread-safe.
class TensorFile {
 public:
  explicit TensorFile(at::ScalarType type) : type_(type) {}

  // In the order in which they are appended.
  void Declare(const std::string& name, std::vector<int64_t> shape);
  // Makes the file, unless an error came first.
  void Create(const std::string& path);
  void Fail(base::Error error);
  // Cast to the file's dtype; nothing where no file was made.
  void Append(const at::Tensor& values);
  // Errors: the first of Fail, Create and Append; kIo, kExhausted.
  base::Status Finish();

 private:
  at::ScalarType type_;
  std::vector<files::TensorInfo> infos_;
  std::optional<files::SafetensorsWriter> writer_;
  std::optional<base::Error> error_;
};

// Makes the folder where it is missing.
base::Status MakeFolder(const std::string& path);

}  // namespace trainctl::train
