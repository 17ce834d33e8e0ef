#include "common/wire/earlier_runs.h"

#include "proto/trainctl.pb.h"

namespace trainctl::wire {

v1::DeviceRuns ToWire(const job::EarlierRuns& runs) {
  v1::DeviceRuns message;
  message.set_device_name(runs.device_name);
  message.set_step_seconds(runs.step_seconds);
  message.set_runs(runs.runs);
  message.set_latest_job(base::ToString(runs.latest));
  if (runs.watts) message.set_watts(*runs.watts);
  message.set_disturbed(runs.disturbed);
  return message;
}

job::EarlierRuns FromWire(const v1::DeviceRuns& message) {
  return {message.device_name(),
          message.step_seconds(),
          message.runs(),
          base::ParseJobId(message.latest_job()).value_or(base::JobId()),
          message.has_watts() ? std::optional(message.watts()) : std::nullopt,
          message.disturbed()};
}

v1::DevicePower ToWire(const job::DevicePower& power) {
  v1::DevicePower message;
  message.set_device_name(power.device_name);
  message.set_watts(power.watts);
  message.set_runs(power.runs);
  return message;
}

job::DevicePower FromWire(const v1::DevicePower& message) {
  return {message.device_name(), message.watts(), message.runs()};
}

v1::DeviceStarts ToWire(const job::EarlierStarts& starts) {
  v1::DeviceStarts message;
  message.set_device_name(starts.device_name);
  message.set_start_seconds(starts.start_seconds);
  message.set_load_seconds(starts.load_seconds);
  message.set_runs(starts.runs);
  message.set_source(std::string(job::Name(starts.source)));
  return message;
}

job::EarlierStarts FromWire(const v1::DeviceStarts& message) {
  return {message.device_name(), message.start_seconds(), message.load_seconds(), message.runs(),
          job::ParseStartSource(message.source()).value_or(job::StartSource::kAlike)};
}

v1::ShapeRuns ToWire(const job::EarlierTimes& times) {
  v1::ShapeRuns message;
  for (const job::EarlierRuns& runs : times.runs) *message.add_devices() = ToWire(runs);
  for (const job::EarlierStarts& starts : times.starts) *message.add_starts() = ToWire(starts);
  return message;
}

job::EarlierTimes FromWire(const v1::ShapeRuns& message) {
  job::EarlierTimes times;
  for (const v1::DeviceRuns& runs : message.devices()) times.runs.push_back(FromWire(runs));
  for (const v1::DeviceStarts& starts : message.starts()) times.starts.push_back(FromWire(starts));
  return times;
}

}  // namespace trainctl::wire
