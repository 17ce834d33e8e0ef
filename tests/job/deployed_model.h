// The models of deploy/models, as a rank reads their config.json.
#pragma once

#include <string>

#include "common/model/model_shape.h"

namespace trainctl::job {

ModelShape DeployedModel(const std::string& name);

}  // namespace trainctl::job
