// What LoRA trained, as a folder that peft loads: adapter_model.safetensors and
// adapter_config.json.
#pragma once

#include <optional>
#include <string>

#include "common/base/result.h"
#include "common/job/job.h"
#include "worker/rank/ops/parameters.h"
#include "worker/rank/state/tensor_piece.h"
#include "worker/rank/strategy/strategy.h"

namespace trainctl::train {

// To the directory, of a job with lora; bf16 under bf16-true, else fp32. Every rank calls it alike;
// one without a directory writes nothing. Errors: kIo, kExhausted; all ranks have gathered all
// adapters by then.
base::Status SaveAdapter(const job::JobSpec& job, const ops::ParameterTable& table,
                         const std::optional<std::string>& directory, strategy::Strategy& strategy,
                         const ByteProgress& progress);

}  // namespace trainctl::train
