#include "common/wire/samples.h"

#include "common/wire/texts.h"
#include "proto/trainctl.pb.h"

namespace trainctl::wire {
namespace {

v1::ForeignProcess ToWire(const job::ForeignProcess& process) {
  v1::ForeignProcess message;
  message.set_pid(process.pid);
  message.set_user(process.user);
  message.set_program(process.program);
  message.set_memory_bytes(process.memory_bytes);
  return message;
}

// Only people read the texts: of a long one the beginning does.
job::ForeignProcess FromWire(const v1::ForeignProcess& message) {
  return {.pid = message.pid(),
          .user = message.user().substr(0, kMaxTextBytes),
          .program = message.program().substr(0, kMaxTextBytes),
          .memory_bytes = message.memory_bytes()};
}

}  // namespace

v1::DeviceSample ToWire(const job::DeviceSample& sample) {
  v1::DeviceSample message;
  message.set_memory_used_bytes(sample.memory_used_bytes);
  if (sample.utilization_percent) message.set_utilization_percent(*sample.utilization_percent);
  if (sample.power_watts) message.set_power_watts(*sample.power_watts);
  if (sample.temperature_celsius) message.set_temperature_celsius(*sample.temperature_celsius);
  if (sample.energy_joules) message.set_energy_joules(*sample.energy_joules);
  for (const job::ForeignProcess& process : sample.foreign)
    *message.add_foreign() = ToWire(process);
  return message;
}

job::DeviceSample FromWire(const v1::DeviceSample& message) {
  job::DeviceSample sample{.memory_used_bytes = message.memory_used_bytes()};
  if (message.has_utilization_percent()) sample.utilization_percent = message.utilization_percent();
  if (message.has_power_watts()) sample.power_watts = message.power_watts();
  if (message.has_temperature_celsius()) sample.temperature_celsius = message.temperature_celsius();
  if (message.has_energy_joules()) sample.energy_joules = message.energy_joules();
  for (const v1::ForeignProcess& process : message.foreign()) {
    if (sample.foreign.size() == job::kMaxForeignProcesses) break;
    sample.foreign.push_back(FromWire(process));
  }
  return sample;
}

v1::HostSample ToWire(const job::HostSample& sample) {
  v1::HostSample message;
  message.set_cpu_percent(sample.cpu_percent);
  message.set_memory_used_bytes(sample.memory_used_bytes);
  message.set_memory_total_bytes(sample.memory_total_bytes);
  message.set_cpus(sample.cpus);
  message.set_trouble(sample.trouble);
  return message;
}

job::HostSample FromWire(const v1::HostSample& message) {
  return {.cpu_percent = message.cpu_percent(),
          .memory_used_bytes = message.memory_used_bytes(),
          .memory_total_bytes = message.memory_total_bytes(),
          .cpus = message.cpus(),
          .trouble = message.trouble().substr(0, kMaxTextBytes)};
}

}  // namespace trainctl::wire
