// Pretrained weights from a Hugging Face directory into a strategy, streamed tensor by tensor:
// never a whole copy in anonymous host memory.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/result.h"
#include "worker/rank/ops/parameters.h"
#include "worker/rank/state/tensor_piece.h"
#include "worker/rank/strategy/strategy.h"

namespace trainctl::train {

// All parameters but adapters, by read_ahead.h for `device`, the strategy's; FinishLoading is left
// to the caller. Errors: kNotFound, kIo, kInvalid: those of files::WeightFiles::Open and
// files::CheckWeights.
base::Status LoadPretrained(const std::string& directory, const ops::ParameterTable& table,
                            bool tied_head, strategy::Strategy& strategy,
                            const ByteProgress& progress, at::Device device = at::kCPU);

}  // namespace trainctl::train
