// job::RemovalQuestion ↔ v1::OutputsAsk. job::RemovalAnswer ↔ v1::HostOutputs.
#pragma once

#include "common/base/result.h"
#include "common/rank/output_removal.h"

namespace trainctl::v1 {
class HostOutputs;
class OutputsAsk;
}  // namespace trainctl::v1

namespace trainctl::wire {

// Without its request_id.
v1::OutputsAsk ToWire(const job::RemovalQuestion& question);
job::RemovalQuestion FromWire(const v1::OutputsAsk& message);

// Without its host.
v1::HostOutputs ToWire(const job::RemovalAnswer& answer);
// kInvalid: a number below 0, or more paths than may be in one answer.
base::Result<job::RemovalAnswer> FromWire(const v1::HostOutputs& message);

}  // namespace trainctl::wire
