// Texts that are compared as a whole with files under tests/client/goldens; UPDATE_GOLDEN=1 writes
// them anew.
#pragma once

#include <string>

namespace trainctl::client {

void ExpectGolden(const std::string& name, const std::string& text);

}  // namespace trainctl::client
