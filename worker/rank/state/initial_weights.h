// Weights that come from a seed. Each tensor's values depend on the seed and its place among the
// model's own tensors (or among the adapters) alone: the same at any world size, and with or
// without adapters, on one kind of device.
#pragma once

#include <cstdint>

#include "worker/rank/ops/parameters.h"
#include "worker/rank/state/tensor_piece.h"
#include "worker/rank/strategy/strategy.h"

namespace trainctl::train {

// All parameters but adapters: Normal(0, 0.02) matrices and norms of one. FinishLoading is left to
// the caller, here and below.
void InitializeRandom(int64_t seed, const ops::ParameterTable& table, at::Device device,
                      strategy::Strategy& strategy, const ByteProgress& progress);

// As PEFT does (Hu et al. 2021): A uniform in ±1 / sqrt(columns), B zero. Nothing to do where the
// model has no adapters.
void InitializeAdapters(int64_t seed, const ops::ParameterTable& table, at::Device device,
                        strategy::Strategy& strategy);

}  // namespace trainctl::train
