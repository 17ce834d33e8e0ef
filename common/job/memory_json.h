// MemoryByKind as JSON: {"params", "grads", "optimizer", "optimizer_cpu", "other", "allocated", "peak_allocated", "reserved"}, in bytes.
#pragma once

#include "common/job/json_fields.h"
#include "common/job/json_node.h"
#include "common/job/outcome.h"

namespace trainctl::job {

JsonNode ToNode(const MemoryByKind& memory);
void ReadMemory(JsonFields& fields, MemoryByKind& memory);

}  // namespace trainctl::job
