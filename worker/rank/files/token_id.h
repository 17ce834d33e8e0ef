// The ids of tokens in a config.json or generation_config.json.
#pragma once

#include <cstdint>
#include <string>

#include "worker/rank/files/json_object.h"

namespace trainctl::files {

// An id below vocab, or the first of a list; null: −1. Absent: `absent`, transformers' default, or
// −1 where the vocabulary has no such token.
int64_t ReadTokenId(const JsonObject& config, const std::string& key, int64_t absent,
                    int64_t vocab);

}  // namespace trainctl::files
