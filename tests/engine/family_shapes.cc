#include "tests/engine/family_shapes.h"

#include <filesystem>

#include "tests/checkout.h"
#include "worker/rank/files/model_config.h"

namespace trainctl::engine_test {

std::map<std::string, job::ModelShape> FamilyShapes() {
  std::map<std::string, job::ModelShape> shapes;
  for (const auto& entry :
       std::filesystem::directory_iterator(checkout::File("tests/baselines/families")))
    shapes[entry.path()] = files::ReadModelConfig(entry.path()).value();
  return shapes;
}

}  // namespace trainctl::engine_test
