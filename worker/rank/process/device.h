// The rank's device: chosen once, with its memory limit and its allocator's figures. One a process.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <string>

#include "common/base/result.h"
#include "common/rank/rank_plan.h"
#include "worker/rank/process/counting_allocator.h"

namespace trainctl::train {

class RankDevice {
 public:
  // Sets the current device, the threads, the allocator with the job's gpu_memory_limit, and
  // determinism. Before the first tensor. Errors: kUnavailable (no such CUDA device, a driver that
  // is too old: in plain words).
  static base::Result<RankDevice> Open(const job::RankPlan& plan);

  at::Device device() const { return device_; }
  const std::string& name() const { return name_; }  // "NVIDIA H200", "CPU slot (2 threads)"
  int64_t limit_bytes() const {
    return limit_bytes_;
  }  // the enforced limit, else the device's size; 0 on an unlimited CPU slot

  AllocatorStats Memory() const;
  Refusal LastRefusal() const;
  void ResetPeak() const;
  // What the allocator keeps for later, and libraries' workspaces, go back to the device.
  void ReleaseCached() const;
  // Waits until the device has done all that was asked of it.
  void Synchronize() const;

 private:
  at::Device device_ = c10::kCPU;
  std::string name_;
  int64_t limit_bytes_ = 0;
};

}  // namespace trainctl::train
