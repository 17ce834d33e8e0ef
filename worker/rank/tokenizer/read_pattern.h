// {"String": …} or {"Regex": …} of a tokenizer.json.
#pragma once

#include "worker/rank/files/json_object.h"
#include "worker/rank/tokenizer/regex.h"

namespace trainctl::data {

// The object's "pattern". A fault is recorded in the object; the pattern returned then matches
// nothing of sense.
Regex ReadPattern(const files::JsonObject& component);

}  // namespace trainctl::data
