#include "worker/train/engine.h"

namespace trainctl::train {

const ops::Kernels& KernelsFor(job::EngineKind, c10::Device) { return ops::AtenKernels(); }

}  // namespace trainctl::train
