// Which kind of a step's time a name stands for: the one table of names of kernels (cuBLAS,
// CUTLASS, cuDNN, NCCL, LibTorch, our own) and of LibTorch's operators. Pure, thread-safe.
#pragma once

#include <optional>
#include <string_view>

#include "common/rank/step_kind.h"

namespace trainctl::profile {

// Of a kernel on the device. kOther where the name says nothing more.
job::StepKind KindOfKernel(std::string_view name);

// Of an operator of LibTorch on the host.
job::StepKind KindOfOperator(std::string_view name);

// Of a named range: all that happens in it is of the kind. nullopt: a range that says nothing.
std::optional<job::StepKind> KindOfRange(std::string_view name);

}  // namespace trainctl::profile
