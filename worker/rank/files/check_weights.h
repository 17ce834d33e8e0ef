// Whether the tensors of a model's directory are those of the model that its config.json describes.
#pragma once

#include <vector>

#include "common/base/result.h"
#include "common/model/model_tensors.h"
#include "worker/rank/files/weights.h"

namespace trainctl::files {

// By headers, but for a tied head. kInvalid: a tensor that is missing or superfluous, of another
// shape, or of another type than F32, F16 or BF16. The message names the tensor; of one that is
// there its file, its shape or type, and what was expected. Tolerated beside the model's own:
// rotary_emb.inv_freq buffers, and lm_head.weight where the head is tied and that is the embedding
// once more. Another one is refused: transformers 5 would not tie the two then.
base::Status CheckWeights(const WeightFiles& weights, const std::vector<job::FileTensor>& expected,
                          bool tied_head);

}  // namespace trainctl::files
