// A small JSON file of a model's folder, which may be absent.
#pragma once

#include <functional>
#include <string>

#include "common/base/result.h"
#include "worker/rank/files/json_object.h"

namespace trainctl::files {

using ReadKeys = std::function<void(const JsonObject& file)>;

// Calls read with the object of the file; where there is no such file, nothing is called.
// Errors: kIo (more than 64 MiB too), kInvalid (no JSON object, or a fault that read records).
base::Status ReadJsonFile(const std::string& directory, const std::string& name,
                          const ReadKeys& read);

}  // namespace trainctl::files
