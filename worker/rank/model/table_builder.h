// Builds a model's ParameterTable: units in order, and matrices packed from several Hugging Face
// tensors.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "common/model/layout.h"
#include "worker/rank/ops/parameters.h"

namespace trainctl::model {

using job::kTensorAlignment;  // of flat buffers

// How a parameter is held; see ops::ParamSpec.
struct Holding {
  ops::Init init = ops::Init::kNormal;
  bool trainable = true;
  bool quantized = false;
  bool adapter = false;
  std::vector<int64_t> file_shape = {};
};

class TableBuilder {
 public:
  ops::UnitId Unit(std::string name, int64_t uses = 1);
  ops::ParamId Vector(ops::UnitId unit, std::string name, int64_t size, const Holding& holding);
  ops::ParamId Matrix(ops::UnitId unit, std::string name, int64_t rows, int64_t columns,
                      const Holding& holding);
  // Matrices of equal width, given as (name, rows): one parameter where every piece is a multiple
  // of kTensorAlignment elements, else one each.
  std::vector<ops::ParamId> Packed(ops::UnitId unit,
                                   const std::vector<std::pair<std::string, int64_t>>& pieces,
                                   int64_t columns, const Holding& holding);

  ops::ParameterTable Take() { return std::move(table_); }

 private:
  ops::ParamId Add(std::vector<int64_t> shape, std::vector<ops::ParamPiece> pieces,
                   ops::UnitId unit, const Holding& holding);

  ops::ParameterTable table_;
};

}  // namespace trainctl::model
