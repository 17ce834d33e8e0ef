// job::HostRules ↔ v1::HostRules. They come from another machine.
#pragma once

#include "common/base/result.h"
#include "common/job/host_rules.h"

namespace trainctl::v1 {
class HostRules;
}  // namespace trainctl::v1

namespace trainctl::wire {

inline constexpr int kMaxRules = 256;  // of owners, of roots to read, of roots to write

v1::HostRules ToWire(const job::HostRules& rules);
// kInvalid: more than kMaxRules, or a text of more than kMaxRuleBytes.
inline constexpr size_t kMaxRuleBytes = 4096;
base::Result<job::HostRules> FromWire(const v1::HostRules& message);

}  // namespace trainctl::wire
