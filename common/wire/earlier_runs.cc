#include "common/wire/earlier_runs.h"

#include "proto/trainctl.pb.h"

namespace trainctl::wire {

v1::DeviceRuns ToWire(const job::EarlierRuns& runs) {
  v1::DeviceRuns message;
  message.set_device_name(runs.device_name);
  message.set_step_seconds(runs.step_seconds);
  message.set_runs(runs.runs);
  message.set_latest_job(base::ToString(runs.latest));
  return message;
}

job::EarlierRuns FromWire(const v1::DeviceRuns& message) {
  return {message.device_name(), message.step_seconds(), message.runs(),
          base::ParseJobId(message.latest_job()).value_or(base::JobId())};
}

}  // namespace trainctl::wire
