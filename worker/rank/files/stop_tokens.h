// The ids that end a text that a model writes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/model/model_shape.h"

namespace trainctl::files {

// All of "eos_token_id": generation_config.json's, else config.json's (of BLIP-2 its
// text_config's), else the shape's own. None: []. Errors: kIo, kInvalid.
base::Result<std::vector<int64_t>> ReadStopTokens(const std::string& directory,
                                                  const job::ModelShape& shape);

}  // namespace trainctl::files
