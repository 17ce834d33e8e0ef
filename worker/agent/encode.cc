#include "worker/agent/encode.h"

#include <algorithm>

#include "common/wire/artifact.h"
#include "proto/trainctl.pb.h"

namespace trainctl::agent {

v1::WorkerMessage EncodeHeartbeat(const GpuSample& device, const HostSample& host) {
  v1::WorkerMessage message;
  v1::DeviceSample& device_sample = *message.mutable_heartbeat()->mutable_device();
  device_sample.set_memory_used_bytes(device.memory_used_bytes);
  if (device.utilization_percent)
    device_sample.set_utilization_percent(*device.utilization_percent);
  if (device.power_watts) device_sample.set_power_watts(*device.power_watts);
  if (device.temperature_celsius)
    device_sample.set_temperature_celsius(*device.temperature_celsius);
  if (device.energy_joules) device_sample.set_energy_joules(*device.energy_joules);
  v1::HostSample& host_sample = *message.mutable_heartbeat()->mutable_host();
  host_sample.set_cpu_percent(host.cpu_percent);
  host_sample.set_memory_used_bytes(host.memory_used_bytes);
  host_sample.set_memory_total_bytes(host.memory_total_bytes);
  return message;
}

v1::WorkerMessage Encode(const DeviceWord& word) {
  v1::WorkerMessage message;
  message.mutable_device_state()->set_free(word.free);
  message.mutable_device_state()->set_reason(word.reason);
  return message;
}

v1::WorkerMessage Encode(const std::string& request_id,
                         const base::Result<job::ArtifactPiece>& piece) {
  v1::WorkerMessage message;
  v1::ArtifactResult& result = *message.mutable_artifact_result();
  result.set_request_id(request_id);
  if (piece) {
    *result.mutable_piece() = wire::ToWire(*piece);
  } else {
    result.set_error(piece.error().message);
  }
  return message;
}

GpuSample SlotSample(const std::optional<RankSample>& rank, int64_t threads) {
  if (!rank) return {};
  GpuSample sample{.memory_used_bytes = rank->memory_used_bytes};
  const auto cores = static_cast<double>(std::max<int64_t>(1, threads));
  if (rank->cpu_percent) sample.utilization_percent = std::min(100.0, *rank->cpu_percent / cores);
  return sample;
}

}  // namespace trainctl::agent
