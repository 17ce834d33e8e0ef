// job::UserPolicy ↔ v1::UserPolicy, without what bounds calls and without what is taken of it.
#pragma once

#include "common/job/user_policy.h"

namespace trainctl::v1 {
class UserPolicy;
}  // namespace trainctl::v1

namespace trainctl::wire {

v1::UserPolicy ToWire(const job::UserPolicy& policy);
job::UserPolicy FromWire(const v1::UserPolicy& message);

}  // namespace trainctl::wire
