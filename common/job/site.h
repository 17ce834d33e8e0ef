// What the check of a job against a site needs to know: the stored inventory, LOST devices
// included.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/job/device.h"
#include "common/job/job.h"
#include "common/job/link.h"
#include "common/json/problem.h"

namespace trainctl::job {

struct SiteDevice {
  DeviceKind kind = DeviceKind::kCpu;
  std::string host;
  std::string name;
  int64_t memory_bytes = 0;
  std::string compute_capability;
  int64_t threads = 1;            // of a CPU slot, or for a GPU's CPU optimizer
  Labels labels = {};             // of its worker
  int64_t host_memory_bytes = 0;  // 0: not known
  std::string uuid = {};
  Links links = {};  // to the other GPUs of its host
};

// Threads of each of `ranks` ranks of an exclusive job on one host: they share out those of all the
// host's devices of their kind.
int64_t ExclusiveThreads(const std::vector<SiteDevice>& host, DeviceKind kind, int64_t ranks);

// The name that a rank of the job computes under on such a device: a CPU slot's says its threads,
// of which an exclusive job has those of the whole host. What is predicted and what was measured go
// by it.
std::string DeviceNameOf(const JobSpec& job, const SiteDevice& device,
                         const std::vector<SiteDevice>& site);

// Faults of the site for this job: more devices than there are, constraints or a precision that
// none meets. Empty: none.
std::vector<Problem> CheckSite(const JobSpec& job, const std::vector<SiteDevice>& devices);

// Whether one device meets the job's constraints, and computes in its precision; the reason where
// it does not.
bool MeetsConstraints(const JobSpec& job, const SiteDevice& device, std::string* reason);
// The same without what the constraints say of its worker: true of all devices of one kind and
// model, or of none.
bool MeetsDeviceConstraints(const JobSpec& job, const SiteDevice& device, std::string* reason);
// Only what the constraints say of its worker.
bool MeetsWorkerConstraints(const JobSpec& job, const SiteDevice& device);
// Whether some constraint speaks of workers: of their host, or of a label.
bool NamesWorkers(const JobSpec& job);
// What those constraints ask for: "host =node1, label.rack !=r2".
std::string WorkersText(const JobSpec& job);

}  // namespace trainctl::job
