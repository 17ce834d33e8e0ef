// GPUs that tests set up. Thread-safe: the test changes what an agent's thread reads.
#pragma once

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "worker/agent/gpu_library.h"

namespace trainctl::tests {

// What the driver knows; outlives the libraries that read it.
struct FakeDriver {
  std::mutex mutex;
  std::string version = "580.95.05";
  std::vector<agent::Gpu> gpus = {{0, "GPU-aaaa", "NVIDIA H200", int64_t{140} << 30, 9, 0}};
  job::DeviceSample sample = {.utilization_percent = 50,
                              .memory_used_bytes = int64_t{600} << 20,
                              .power_watts = 300,
                              .energy_joules = 1000};
  std::vector<agent::GpuProcess> processes;
  std::map<std::pair<int64_t, int64_t>, job::LinkKind> links;  // by indices; others: NVLink
  std::vector<int64_t> xids;                                   // that nobody has asked for yet
  std::optional<bool> reset_pending = false;
  bool answers = true;

  template <class Change>
  void Set(Change change) {
    const std::lock_guard lock(mutex);
    change(*this);
  }
};

class FakeGpuLibrary : public agent::GpuLibrary {
 public:
  explicit FakeGpuLibrary(FakeDriver& driver) : driver_(driver) {}

  std::string DriverVersion() override {
    const std::lock_guard lock(driver_.mutex);
    return driver_.version;
  }
  std::vector<agent::Gpu> Gpus() override {
    const std::lock_guard lock(driver_.mutex);
    return driver_.gpus;
  }
  base::Result<job::DeviceSample> Sample(int64_t) override {
    const std::lock_guard lock(driver_.mutex);
    if (!driver_.answers)
      return base::Error{base::Code::kUnavailable,
                         "the driver does not answer for GPU 0: fell off the bus"};
    return driver_.sample;
  }
  base::Result<std::vector<agent::GpuProcess>> Processes(int64_t) override {
    const std::lock_guard lock(driver_.mutex);
    return driver_.processes;
  }
  std::optional<agent::GpuFaults> Faults(int64_t) override {
    const std::lock_guard lock(driver_.mutex);
    return agent::GpuFaults{std::exchange(driver_.xids, {}), driver_.reset_pending};
  }
  job::LinkKind Link(int64_t from, int64_t to) override {
    const std::lock_guard lock(driver_.mutex);
    const auto link = driver_.links.find(std::minmax(from, to));
    return link == driver_.links.end() ? job::LinkKind::kNvlink : link->second;
  }

 private:
  FakeDriver& driver_;
};

}  // namespace trainctl::tests
