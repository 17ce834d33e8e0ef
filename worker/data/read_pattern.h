// {"String": …} or {"Regex": …} of a tokenizer.json.
#pragma once

#include "worker/data/regex.h"
#include "worker/files/json_object.h"

namespace trainctl::data {

// The object's "pattern". A fault is recorded in the object; the pattern returned then matches nothing of sense.
Regex ReadPattern(const files::JsonObject& component);

}  // namespace trainctl::data
