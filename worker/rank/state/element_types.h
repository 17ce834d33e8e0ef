// Element types of files and of tensors.
#pragma once

#include <c10/core/ScalarType.h>

#include <optional>

#include "worker/rank/files/tensor_info.h"

namespace trainctl::train {

// nullopt: LibTorch has no such type, or nothing here holds it.
std::optional<at::ScalarType> ScalarTypeOf(files::DType dtype);
// CHECKs that checkpoints have such a type.
files::DType DTypeOf(at::ScalarType type);

}  // namespace trainctl::train
