// Of a job's texts those that a request asks for.
#pragma once

#include "proto/trainctl.pb.h"

namespace trainctl::client {

// As the coordinator chooses them, of all that the test has told.
void KeepTextsAskedFor(const v1::GetRequest& request, v1::JobDetail* detail);

}  // namespace trainctl::client
