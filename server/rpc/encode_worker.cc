#include "server/rpc/encode_worker.h"

#include "proto/trainctl.pb.h"

namespace trainctl::rpc {
namespace {

void EncodeDevice(const core::Device& device, v1::Device* message) {
  message->set_kind(device.kind == job::DeviceKind::kCuda ? "cuda" : "cpu");
  message->set_index(device.index);
  message->set_uuid(device.uuid);
  message->set_name(device.name);
  message->set_memory_bytes(device.memory_bytes);
  message->set_compute_capability(device.compute_capability);
  message->set_driver(device.driver);
  message->set_threads(device.threads);
}

void EncodeSample(const coordinator::DeviceSample& sample, v1::DeviceSample* message) {
  message->set_utilization_percent(sample.utilization_percent);
  message->set_memory_used_bytes(sample.memory_used_bytes);
  message->set_power_watts(sample.power_watts);
  message->set_temperature_celsius(sample.temperature_celsius);
  message->set_energy_joules(sample.energy_joules);
}

void EncodeSample(const coordinator::HostSample& sample, v1::HostSample* message) {
  message->set_cpu_percent(sample.cpu_percent);
  message->set_memory_used_bytes(sample.memory_used_bytes);
  message->set_memory_total_bytes(sample.memory_total_bytes);
}

}  // namespace

v1::WorkerView EncodeWorker(const core::Worker& worker, const coordinator::WorkerSessions::Session* session, const core::Now& now) {
  v1::WorkerView view;
  view.set_name(worker.row.name);
  view.set_host(worker.row.host);
  view.set_state(std::string(core::WorkerState(worker)));
  if (worker.holder) view.set_job(base::ToString(worker.holder->job));
  EncodeDevice(worker.row.device, view.mutable_device());
  if (session != nullptr && session->device) EncodeSample(*session->device, view.mutable_device_sample());
  if (session != nullptr && session->host) EncodeSample(*session->host, view.mutable_host_sample());
  view.set_last_seen(session == nullptr ? worker.row.last_seen : now.wall - (now.steady - session->last_heard));
  return view;
}

}  // namespace trainctl::rpc
