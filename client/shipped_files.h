// The files that come with trainctl: recipes, and the scripts that are verbs too. Stateless.
#pragma once

#include <string>
#include <vector>

#include "client/context.h"

namespace trainctl::client {

// Where `name` may lie: in deploy/ of the checkout that built the program, or in share/trainctl/ of
// what was installed with it.
std::vector<std::string> ShippedPlaces(const Surroundings& surroundings, const std::string& name);

// The first of the places that exists. kNotFound: the message lists them.
base::Result<std::string> FindShipped(const Surroundings& surroundings, const std::string& name);

}  // namespace trainctl::client
