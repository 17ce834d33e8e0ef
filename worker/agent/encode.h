// The worker's own facts as messages (proto/trainctl.proto). Devices and reports about ranks:
// common/wire.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/job/device_fault.h"
#include "worker/agent/artifact_reader.h"
#include "worker/agent/device_watch.h"
#include "worker/agent/host_sampler.h"
#include "worker/agent/output_remover.h"
#include "worker/agent/rank_sampler.h"

namespace trainctl::v1 {
class WorkerMessage;
}

namespace trainctl::agent {

v1::WorkerMessage EncodeHeartbeat(const job::DeviceSample& device, const job::HostSample& host);
v1::WorkerMessage Encode(const DeviceWord& word);
v1::WorkerMessage Encode(const std::vector<job::DeviceFault>& faults);
v1::WorkerMessage Encode(const std::string& request_id,
                         const base::Result<job::ArtifactPiece>& piece);
v1::WorkerMessage Encode(const std::string& request_id,
                         const base::Result<job::RemovalAnswer>& removal);

// A CPU slot is used as much as its rank uses it: of its threads, and of its memory.
job::DeviceSample SlotSample(const std::optional<RankSample>& rank, int64_t threads);

}  // namespace trainctl::agent
