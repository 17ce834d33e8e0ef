// What an out-of-memory end knew: job::OomDetail and job::MemoryByKind ↔ messages.
#pragma once

#include "common/base/result.h"
#include "common/job/outcome.h"

namespace trainctl::v1 {
class MemoryByKind;
class OomDetail;
}  // namespace trainctl::v1

namespace trainctl::wire {

v1::MemoryByKind ToWire(const job::MemoryByKind& memory);
v1::OomDetail ToWire(const job::OomDetail& oom);

// kInvalid names the field that is negative.
base::Result<job::MemoryByKind> FromWire(const v1::MemoryByKind& message);
base::Result<job::OomDetail> FromWire(const v1::OomDetail& message);

}  // namespace trainctl::wire
