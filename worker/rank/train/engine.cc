#include "worker/rank/train/engine.h"

#include "worker/rank/ops/fused_kernels.h"

namespace trainctl::train {

const ops::Kernels& KernelsFor(job::EngineKind engine, c10::Device device) {
  const bool fused = engine == job::EngineKind::kFused && device.is_cuda();
  return fused ? ops::FusedKernels() : ops::AtenKernels();
}

}  // namespace trainctl::train
