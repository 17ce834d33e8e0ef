// What a model's head is given, and its matrix, by the names of the model's description.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>

#include "common/model/model_description.h"
#include "worker/rank/ops/kernels.h"

namespace trainctl::engine_test {

// By a tensor's name; undefined: there is none.
using WeightOf = std::function<at::Tensor(const std::string& name)>;

// The last hidden states, behind the final norm.
inline at::Tensor HeadInput(const job::ModelShape& shape, const at::Tensor& hidden,
                            const WeightOf& weight) {
  const std::string norm = job::Describe(shape).head.front().modules[0].path;
  return ops::AtenKernels()
      .Norm(hidden, {weight(norm + ".weight"), weight(norm + ".bias")}, shape.norm_eps)
      .value;
}

inline at::Tensor HeadMatrix(const job::ModelShape& shape, const WeightOf& weight) {
  const job::ModelDescription model = job::Describe(shape);
  const job::UnitLayers& unit = model.tied_head ? model.embedding : model.head;
  const job::Layer& matrix = model.tied_head ? unit.front() : unit.back();
  return weight(matrix.modules[0].path + ".weight");
}

}  // namespace trainctl::engine_test
