// MemoryByKind as JSON, in bytes.
#pragma once

#include "common/job/json_fields.h"
#include "common/job/outcome.h"

namespace trainctl::job {

inline constexpr auto kMemoryFields = [](auto& fields, auto& memory) {
  fields.Member("params", memory.params);
  fields.Member("grads", memory.grads);
  fields.Member("optimizer", memory.optimizer);
  fields.Member("optimizer_cpu", memory.optimizer_cpu);
  fields.Member("other", memory.other);
  fields.Member("allocated", memory.allocated);
  fields.Member("peak_allocated", memory.peak_allocated);
  fields.Member("reserved", memory.reserved);
};

}  // namespace trainctl::job
