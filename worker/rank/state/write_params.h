// Writing the parameters of a model, or its adapters, to files of tensors.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "common/base/result.h"
#include "worker/rank/ops/parameters.h"
#include "worker/rank/state/tensor_piece.h"

namespace trainctl::train {

struct SavedParams {
  const ops::ParameterTable& table;
  bool adapters = false;  // or the model's own
  at::ScalarType type = at::kFloat;
};

// Appends what pieces(ParamId) gives of each of them, in order, and finishes the file: TensorFile
// or ModelFiles. Every rank calls it alike. Errors: the file's; all parameters were taken by then.
template <class Pieces, class File>
base::Status WriteParams(const SavedParams& saved, const Pieces& pieces,
                         const ByteProgress& progress, File* file) {
  const auto value_bytes = static_cast<int64_t>(c10::elementSize(saved.type));
  const int64_t total = Numel(saved.table, saved.adapters) * value_bytes;
  int64_t done = 0;
  for (size_t param = 0; param < saved.table.params.size(); ++param) {
    if (saved.table.params[param].adapter != saved.adapters) continue;
    progress(done, total);
    for (const at::Tensor& piece : pieces(static_cast<ops::ParamId>(param))) file->Append(piece);
    done += saved.table.params[param].numel() * value_bytes;
  }
  if (base::Status finished = file->Finish(); !finished) return finished;
  progress(total, total);
  return base::Ok{};
}

}  // namespace trainctl::train
