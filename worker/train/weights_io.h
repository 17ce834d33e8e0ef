// Weights between Hugging Face directories and a strategy, streamed tensor by tensor: never a whole copy in anonymous host memory.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "common/base/result.h"
#include "common/job/job.h"
#include "worker/ops/parameters.h"
#include "worker/strategy/strategy.h"

namespace trainctl::train {

using LoadProgress = std::function<void(int64_t done_bytes, int64_t total_bytes)>;

// Errors: kNotFound, kIo, kInvalid: a weight that is missing, superfluous or of the wrong shape is named. Tolerated beside the model's own:
// rotary_emb.inv_freq buffers, and lm_head.weight where the head is tied.
base::Status LoadPretrained(const std::string& directory, const ops::ParameterTable& table, bool tied_head, strategy::Strategy& strategy,
                            const LoadProgress& progress);

// Normal(0, 0.02) matrices and norms of one, from (seed, tensor): the same at any world size, on one kind of device.
void InitializeRandom(int64_t seed, const ops::ParameterTable& table, at::Device device, strategy::Strategy& strategy,
                      const LoadProgress& progress);

// model.safetensors in the storage dtype, config.json and tokenizer files of the model's directory unchanged: a directory that
// transformers loads. Every rank calls it; rank 0 writes. Errors: kIo, kExhausted.
base::Status SaveFinal(const std::string& model_directory, const std::string& output_directory, const ops::ParameterTable& table,
                       bool writes, strategy::Strategy& strategy);

}  // namespace trainctl::train
