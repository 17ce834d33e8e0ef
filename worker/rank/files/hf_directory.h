// The files of a Hugging Face directory beside its weights: configuration and tokenizer. They are
// copied byte for byte on export, but for the type of the weights. So transformers loads what was
// trained exactly as it loaded what was started from.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"

namespace trainctl::files {

// Something of that name is in the directory. It may be no regular file: reading it says so.
bool HasFile(const std::string& directory, const std::string& name);

// Copies the companion files (common/base/saved_folder.h) that exist in `from` to `to`, an existing
// directory, each under a temporary name first. Returns their names. Where config.json says the
// type of the weights, it says `weights_type` in the copy (weights_type.h). If `from` is LitGPT's,
// without a config.json, one is made of its model_config.yaml. Errors: kNotFound (no configuration
// in `from`, no `to`), kIo, kExhausted (disk full), kInvalid (ReadModelConfig's, or a broken
// config.json).
base::Result<std::vector<std::string>> CopyCompanionFiles(const std::string& from,
                                                          const std::string& to,
                                                          std::string_view weights_type);

}  // namespace trainctl::files
