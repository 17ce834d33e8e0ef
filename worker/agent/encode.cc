#include "worker/agent/encode.h"

#include <algorithm>

#include "common/wire/artifact.h"
#include "common/wire/device_fault.h"
#include "common/wire/output_removal.h"
#include "common/wire/samples.h"
#include "proto/trainctl.pb.h"

namespace trainctl::agent {

v1::WorkerMessage EncodeHeartbeat(const job::DeviceSample& device, const job::HostSample& host) {
  v1::WorkerMessage message;
  *message.mutable_heartbeat()->mutable_device() = wire::ToWire(device);
  *message.mutable_heartbeat()->mutable_host() = wire::ToWire(host);
  return message;
}

v1::WorkerMessage Encode(const DeviceWord& word) {
  v1::WorkerMessage message;
  message.mutable_device_state()->set_free(word.free);
  message.mutable_device_state()->set_reason(word.reason);
  return message;
}

v1::WorkerMessage Encode(const std::vector<job::DeviceFault>& faults) {
  v1::WorkerMessage message;
  wire::ToWire(faults, message.mutable_device_faults()->mutable_faults());
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

v1::WorkerMessage Encode(const std::string& request_id,
                         const base::Result<job::RemovalAnswer>& removal) {
  v1::WorkerMessage message;
  v1::OutputsResult& result = *message.mutable_outputs_result();
  result.set_request_id(request_id);
  if (removal) {
    *result.mutable_outputs() = wire::ToWire(*removal);
  } else {
    result.set_error(removal.error().message);
  }
  return message;
}

job::DeviceSample SlotSample(const std::optional<RankSample>& rank, int64_t threads) {
  if (!rank) return {};
  job::DeviceSample sample{.memory_used_bytes = rank->memory_used_bytes};
  const auto cores = static_cast<double>(std::max<int64_t>(1, threads));
  if (rank->cpu_percent) sample.utilization_percent = std::min(100.0, *rank->cpu_percent / cores);
  return sample;
}

}  // namespace trainctl::agent
