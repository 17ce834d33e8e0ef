// How a message names a tensor of a file: its name may be anything, and of any length. Pure.
#pragma once

#include <string>
#include <string_view>

#include "common/base/utf8.h"

namespace trainctl::files {

// "model.norm.weight", cut where it is longer than any that a model has.
inline std::string ShownName(std::string_view name) { return base::Excerpt(name, 120); }

// "tensor 'model.norm.weight'".
inline std::string TensorText(std::string_view name) { return "tensor '" + ShownName(name) + "'"; }

}  // namespace trainctl::files
