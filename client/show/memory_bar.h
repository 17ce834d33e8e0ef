// The memory of a job's rank by kind, as a stacked bar. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "proto/trainctl.pb.h"

namespace trainctl::client {

struct BarLayout {
  int columns = 0;  // of the terminal; 0: unlimited
  bool unicode = true;
};

struct BarDevice {
  int64_t bytes = 0;    // 0: not known
  bool is_cpu = false;  // an optimizer that is offloaded to the host is in the same memory
};

// A row: what the device's memory holds by kind (kMemoryKinds), at the phase at which it is most
// together. It reaches up to the device's size, or what the job may take. "|" stands at the
// predicted peak. "": nothing is measured yet.
std::string MemoryBar(const v1::JobDetail& detail, const BarDevice& device,
                      const BarLayout& layout);

}  // namespace trainctl::client
