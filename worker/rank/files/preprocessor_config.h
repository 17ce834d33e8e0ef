// What the files of a model's processor ask to be made of pictures.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/result.h"

namespace trainctl::files {

// Looks at "image_processor" of processor_config.json, and at preprocessor_config.json: whichever
// are there. Keys that are absent have the values of transformers' BlipImageProcessor.
// kInvalid: one asks for something else than images/pixels.h makes of a picture, squares of this
// side; the message names file and key. kIo.
base::Status CheckPreprocessor(const std::string& directory, int64_t side);

}  // namespace trainctl::files
