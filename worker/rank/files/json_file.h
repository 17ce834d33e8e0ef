// A JSON file of a model's folder, which may be absent.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "common/base/result.h"
#include "worker/rank/files/json_object.h"

namespace trainctl::files {

using ReadKeys = std::function<void(const JsonObject& file)>;

// One may list every added token.
inline constexpr size_t kMaxJsonBytes = 64 << 20;

// Calls read with the object of the file; where there is no such file, nothing is called.
// Errors: kIo (more than max_bytes too), kInvalid (no JSON object, or a fault that read records).
base::Status ReadJsonFile(const std::string& directory, const std::string& name,
                          const ReadKeys& read, size_t max_bytes = kMaxJsonBytes);

}  // namespace trainctl::files
