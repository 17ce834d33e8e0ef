// The models of deploy/models, by the sizes in their config.json.
#pragma once

#include <string>

#include "common/model/model_shape.h"

namespace trainctl::job {

ModelShape DeployedModel(const std::string& name);

}  // namespace trainctl::job
