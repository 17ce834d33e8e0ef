// What a device and its host do at one moment: a worker measures it, `trainctl workers` shows it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace trainctl::job {

// A process that uses a device, and is none of a rank that its worker runs.
struct ForeignProcess {
  int64_t pid = 0;
  std::string user = {};  // empty: not seen from where the worker runs (a container); as program
  std::string program = {};
  int64_t memory_bytes = 0;  // of the device; 0: the driver does not tell
};

// As many are told of one device, those that hold most.
inline constexpr size_t kMaxForeignProcesses = 16;

// nullopt where the device does not tell, ever or just now.
struct DeviceSample {
  std::optional<double> utilization_percent = {};
  int64_t memory_used_bytes = 0;
  std::optional<double> power_watts = {};
  std::optional<double> temperature_celsius = {};
  std::optional<double> energy_joules = {};  // since the driver was loaded
  std::vector<ForeignProcess> foreign = {};
};

struct HostSample {
  // Of all cores, or of the container's quota, since the sample before. Where no tick passed it is
  // as it was then.
  double cpu_percent = 0;
  int64_t memory_used_bytes = 0;
  int64_t memory_total_bytes = 0;
  double cpus = 0;  // that cpu_percent is of: cores, or the quota in cores; 0: not known
  // Why what ranks say can't be written to the worker's own folder; empty: it can.
  std::string trouble = {};
};

}  // namespace trainctl::job
