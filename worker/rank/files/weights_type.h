// The type of the weights in a config.json. transformers loads a folder in the type that its
// configuration says, whatever the weights are.
#pragma once

#include <string>
#include <string_view>

#include "common/base/result.h"

namespace trainctl::files {

// Returns the config.json with `type` ("float16") where it says one: in "dtype" and
// "torch_dtype", also of its parts ("text_config"). One that says the same or nothing is returned
// byte for byte. kInvalid: no JSON, which names `source`.
base::Result<std::string> WithWeightsType(const std::string& config, std::string_view type,
                                          const std::string& source);

}  // namespace trainctl::files
