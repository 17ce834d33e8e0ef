#include "server/rpc/encode_worker.h"

#include "common/wire/device.h"
#include "proto/trainctl.pb.h"

namespace trainctl::rpc {
namespace {

void EncodeSample(const coordinator::DeviceSample& sample, v1::DeviceSample* message) {
  message->set_memory_used_bytes(sample.memory_used_bytes);
  if (sample.utilization_percent) message->set_utilization_percent(*sample.utilization_percent);
  if (sample.power_watts) message->set_power_watts(*sample.power_watts);
  if (sample.temperature_celsius) message->set_temperature_celsius(*sample.temperature_celsius);
  if (sample.energy_joules) message->set_energy_joules(*sample.energy_joules);
}

void EncodeSample(const coordinator::HostSample& sample, v1::HostSample* message) {
  message->set_cpu_percent(sample.cpu_percent);
  message->set_memory_used_bytes(sample.memory_used_bytes);
  message->set_memory_total_bytes(sample.memory_total_bytes);
}

}  // namespace

v1::WorkerView EncodeWorker(const core::State& state, const core::Worker& worker,
                            const coordinator::WorkerSessions::Session* session,
                            const core::Now& now) {
  v1::WorkerView view;
  view.set_name(worker.row.name);
  view.set_host(worker.row.host);
  view.set_state(std::string(core::WorkerState(state, worker)));
  view.set_reason(core::WorkerReason(state, worker));
  if (const auto holder = core::HolderOf(state, worker)) view.set_job(base::ToString(*holder));
  *view.mutable_device() = wire::ToWire(worker.row.device);
  if (session != nullptr && session->device)
    EncodeSample(*session->device, view.mutable_device_sample());
  if (session != nullptr && session->host) EncodeSample(*session->host, view.mutable_host_sample());
  view.set_last_seen(session == nullptr ? worker.row.last_seen
                                        : now.wall - (now.steady - session->last_heard));
  return view;
}

}  // namespace trainctl::rpc
