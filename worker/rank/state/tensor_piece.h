// Parameters and their pieces as the checkpoint's files know them.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "worker/rank/ops/parameters.h"

namespace trainctl::train {

// How far the reading or writing of tensors is, in bytes.
using ByteProgress = std::function<void(int64_t done, int64_t total)>;

// Values of the model's own parameters, or of the adapters.
inline int64_t Numel(const ops::ParameterTable& table, bool adapters) {
  int64_t numel = 0;
  for (const ops::ParamSpec& spec : table.params)
    numel += spec.adapter == adapters ? spec.numel() : 0;
  return numel;
}

// [rows] of a vector, [rows, columns] of a matrix.
inline std::vector<int64_t> PieceShape(const ops::ParamSpec& spec, const ops::ParamPiece& piece) {
  if (spec.shape.size() == 1) return {piece.rows};
  return {piece.rows, spec.shape[1]};
}

// The same as its file has it.
inline std::vector<int64_t> FileShape(const ops::ParamSpec& spec, const ops::ParamPiece& piece) {
  return spec.file_shape.empty() ? PieceShape(spec, piece) : spec.file_shape;
}

}  // namespace trainctl::train
