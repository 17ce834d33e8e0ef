// The adapters of a folder of peft into a strategy: what SaveAdapter wrote, or peft itself.
#pragma once

#include <string>

#include "common/base/result.h"
#include "worker/rank/ops/parameters.h"
#include "worker/rank/strategy/strategy.h"

namespace trainctl::train {

// All adapters of the table, and weights of adapted modules that peft has saved with them;
// FinishLoading is left to the caller. Errors: kNotFound, kIo, kInvalid:
// a matrix that is missing, superfluous, or of the wrong shape or type is named.
base::Status LoadAdapter(const std::string& folder, const ops::ParameterTable& table,
                         strategy::Strategy& strategy);

}  // namespace trainctl::train
