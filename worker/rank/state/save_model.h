// The trained model as a Hugging Face directory that transformers loads: model.safetensors, and
// config.json and the tokenizer's files of the directory that it was started from. These are
// unchanged, but that config.json says the type of the weights. Streamed tensor by tensor.
#pragma once

#include <optional>
#include <string>

#include "common/base/result.h"
#include "common/job/job.h"
#include "worker/rank/ops/parameters.h"
#include "worker/rank/state/tensor_piece.h"
#include "worker/rank/strategy/strategy.h"

namespace trainctl::train {

// To the directory; adapters are merged into the weights (W + scale · B · A, from what 4-bit
// weights dequantize to). Rounded to the type that the job says (job::SavedTypeOf). Every rank
// calls it alike; one without a directory writes nothing. Errors: kNotFound, kIo, kExhausted,
// kInvalid (a weight is out of that type's range); all ranks have gathered all weights by then.
base::Status SaveModel(const job::JobSpec& job, const ops::ParameterTable& table,
                       const std::optional<std::string>& directory, strategy::Strategy& strategy,
                       const ByteProgress& progress);

}  // namespace trainctl::train
