// What a site grants the user who asks, and what of it is taken: for people, and as a record.
#pragma once

#include <string>

#include "client/show/output.h"
#include "proto/trainctl.pb.h"

namespace trainctl::client {

// "This site lets anna have at most 8 devices at once (3 now), priorities from 0 to 60."; empty:
// any number of all.
std::string BoundsText(const v1::UserPolicy& policy);

// null: no bound.
Json BoundsRecord(const v1::UserPolicy& policy);

}  // namespace trainctl::client
