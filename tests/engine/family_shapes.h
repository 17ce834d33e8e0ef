// Small models of every family, as transformers writes their configurations
// (tests/baselines/generate_families.py).
#pragma once

#include <map>
#include <string>

#include "common/model/model_shape.h"

namespace trainctl::engine_test {

// {the folder: its model}
std::map<std::string, job::ModelShape> FamilyShapes();

}  // namespace trainctl::engine_test
