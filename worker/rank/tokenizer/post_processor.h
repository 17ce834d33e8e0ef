// What the post-processor of a tokenizer.json puts before a text. What it puts behind is not read:
// data sets end their rows by a rule of their own (worker/rank/data/boundary_tokens.h).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "worker/rank/files/json_object.h"

namespace trainctl::data {

// Of a token: what no vocabulary exceeds.
inline constexpr int64_t kMaxId = (1 << 22) - 1;

// The ids before a single text, as TemplateProcessing, BertProcessing, RobertaProcessing and a
// Sequence of them add them. nullopt: there is no post-processor, or it is about offsets only
// (ByteLevel). Any other type is a fault of the tokenizer's.
std::optional<std::vector<int32_t>> ReadPrefixIds(const files::JsonObject& tokenizer);

}  // namespace trainctl::data
