// A rank's deadline (common/rank/deadline.h) ↔ v1::Deadline.
#pragma once

#include <optional>
#include <string>

#include "common/base/result.h"
#include "common/rank/deadline.h"

namespace trainctl::v1 {
class Deadline;
}

namespace trainctl::wire {

v1::Deadline ToWire(const job::Deadline& deadline);
// kInvalid: an outcome that no deadline has. Times are from 0 to ten years, a text is cut off.
base::Result<job::Deadline> FromWire(const v1::Deadline& message);

// nullopt: none, or none that a deadline has.
std::optional<job::Outcome> ReadDeadlineOutcome(const std::string& name);

}  // namespace trainctl::wire
