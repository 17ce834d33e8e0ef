// How a model's folder wants texts to be written.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/model/model_shape.h"

namespace trainctl::files {

struct GenerationConfig {
  std::vector<int64_t> stops;     // ids that end a text; none: it names none
  double repetition_penalty = 1;  // 1: none
  int64_t top_k = 0;              // where tokens are drawn: of so many, the likeliest; 0: of all
  double top_p = 1;               // and of the likeliest that have this share of them; 1: of all
  std::string file;               // the name of the one that was read; "": there is none
  // Others of its settings that change the likeliest text, as "no_repeat_ngram_size 3".
  std::vector<std::string> unfollowed;
  std::vector<std::string> unfollowed_if_drawn;  // those that change which tokens may be drawn
};

// That of generation_config.json, else of config.json (of BLIP-2 its text_config), as transformers
// takes it. Stops that generation_config.json does not name are config.json's.
// Errors: kIo, kInvalid.
base::Result<GenerationConfig> ReadGenerationConfig(const std::string& directory,
                                                    const job::ModelShape& shape);

}  // namespace trainctl::files
