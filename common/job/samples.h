// What a device and its host do at one moment: a worker measures it, `trainctl workers` shows it.
#pragma once

#include <cstdint>
#include <optional>

namespace trainctl::job {

// nullopt where the device does not tell, ever or just now.
struct DeviceSample {
  std::optional<double> utilization_percent = {};
  int64_t memory_used_bytes = 0;
  std::optional<double> power_watts = {};
  std::optional<double> temperature_celsius = {};
  std::optional<double> energy_joules = {};  // since the driver was loaded
};

struct HostSample {
  // Of all cores, or of the container's quota, since the sample before. Where no tick passed it is
  // as it was then.
  double cpu_percent = 0;
  int64_t memory_used_bytes = 0;
  int64_t memory_total_bytes = 0;
  double cpus = 0;  // that cpu_percent is of: cores, or the quota in cores; 0: not known
};

}  // namespace trainctl::job
