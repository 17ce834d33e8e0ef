// A file that torch.save wrote of a state_dict: pytorch_model*.bin, lit_model.pth; PyTorch ≥ 1.6.
// It is a zip archive of stored entries:
//   <name>/data.pkl     the pickle (state_pickle.h)
//   <name>/data/<key>   a storage's bytes
//   <name>/byteorder    "little"
// It is mapped, and validated whole before the first byte of a tensor is used.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "worker/rank/files/mapped_file.h"
#include "worker/rank/files/tensor_info.h"

namespace trainctl::files {

// Thread-safe: immutable after Open. Spans live as long as the object (moves included).
class TorchFile {
 public:
  struct Tensor {
    TensorInfo info;  // begin and end from the start of the file
    std::span<const std::byte> bytes;
  };

  // Errors: kNotFound, kIo, kInvalid. kInvalid: a broken archive, a pickle that holds more than a
  // state_dict needs, a tensor outside of its storage. kInvalid too: a tensor that is not stored
  // row by row without gaps. Messages name file and tensor.
  static base::Result<TorchFile> Open(const std::string& path);

  const std::vector<Tensor>& tensors() const { return tensors_; }
  const MappedFile& file() const { return file_; }

 private:
  explicit TorchFile(MappedFile file) : file_(std::move(file)) {}

  MappedFile file_;
  std::vector<Tensor> tensors_;
};

}  // namespace trainctl::files
