// The tensors of a model as its checkpoint's files have them, in the order of the units. Pure,
// thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/model/model_description.h"

namespace trainctl::job {

struct FileTensor {
  std::string name;  // "model.layers.0.self_attn.q_proj.weight"
  std::vector<int64_t> shape;

  bool operator==(const FileTensor&) const = default;
};

// A head that is the embedding is none of its own.
std::vector<FileTensor> TensorsOf(const ModelDescription& model);

}  // namespace trainctl::job
