// What a worker gives a rank to run: one JSON file (rank_json.h), named on the rank's command line:
//   trainrank --plan FILE --messages-fd N --commands-fd M
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/file_roots.h"
#include "common/job/device.h"
#include "common/job/job.h"

namespace trainctl::job {

struct RankPlan {
  JobSpec job;  // resolved: strategy is not auto, micro_batch_size is a number, paths are absolute
  std::string model_revision;  // that was inspected, of a model.path that is a hub id
  std::string site;            // of the coordinator that gave the job its id
  std::string job_id;
  std::string owner;                    // of the job; empty: not known, of an older coordinator
  std::vector<std::string> ended_jobs;  // of the site, whose output.dir this job may take over
  int64_t attempt = 1;
  bool trial =
      false;  // one step on a worst case before weights are loaded: whether the micro batch fits
  int64_t rank = 0;
  int64_t world_size = 1;
  DeviceKind device = DeviceKind::kCpu;
  int64_t device_index = 0;                 // CUDA ordinal on its host; on CPU the slot's number
  int64_t host_place = 0;                   // among the job's ranks on its host, from 0
  std::vector<int64_t> host_devices = {0};  // of those ranks, by place: the devices' numbers on the
                                            // host, as many as there are ranks
  std::string device_uuid;                  // as NVML names it; on CPU "cpu:<host>:<slot>"
  bool holds_gradients =
      false;                 // whole, over the micro steps (gradient_holding.h); equal on all ranks
  int64_t threads = 1;       // intra-op threads of a CPU rank, CPU-optimizer threads of a GPU rank
  std::string cpus;          // of the host, that its threads run on: "0-7,16"; empty: any
  std::string bind_address;  // the address other ranks reach this host by
  std::string directory;     // the attempt's folder on this host: scratch that may be written
  base::FileRoots roots;     // of this host, for the owner's jobs
};

}  // namespace trainctl::job
