// A piece of a parameter as the checkpoint's files know it.
#pragma once

#include <cstdint>
#include <vector>

#include "worker/rank/ops/parameters.h"

namespace trainctl::train {

// [rows] of a vector, [rows, columns] of a matrix.
inline std::vector<int64_t> PieceShape(const ops::ParamSpec& spec, const ops::ParamPiece& piece) {
  if (spec.shape.size() == 1) return {piece.rows};
  return {piece.rows, spec.shape[1]};
}

}  // namespace trainctl::train
