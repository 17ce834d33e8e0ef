#include "tests/job/deployed_model.h"

#include "tests/checkout.h"
#include "worker/rank/files/model_config.h"

namespace trainctl::job {

ModelShape DeployedModel(const std::string& name) {
  return files::ReadModelConfig(checkout::File("deploy/models/") + name).value();
}

}  // namespace trainctl::job
