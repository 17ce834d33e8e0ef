// A LitGPT configuration file as settings. The only file pair that knows yaml-cpp; its exceptions
// end here.
#pragma once

#include <string>
#include <string_view>

#include "client/litgpt/setting.h"
#include "common/base/result.h"

namespace trainctl::client {

// kInvalid: not YAML, a key twice, not a map of maps and scalars, too deep or too many; the message
// names source, line and column.
base::Result<LitgptSettings> ReadLitgptYaml(std::string_view text, const std::string& source);

}  // namespace trainctl::client
