// Which kernels a job computes with.
#pragma once

#include <c10/core/Device.h>

#include "common/job/job.h"
#include "worker/rank/ops/kernels.h"

namespace trainctl::train {

// "engine": "fused" is the fused CUDA kernels where there is a GPU; CPU slots and "reference"
// compute with plain ATen.
const ops::Kernels& KernelsFor(job::EngineKind engine, c10::Device device);

}  // namespace trainctl::train
