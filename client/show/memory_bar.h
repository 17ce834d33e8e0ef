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

// A row: params, grads, optimizer and other, at the phase at which they are most together. It
// reaches up to the device's size, or what the job may take. "|" stands at the predicted peak.
// device_bytes: 0: not known. "": nothing is measured yet.
std::string MemoryBar(const v1::JobDetail& detail, int64_t device_bytes, const BarLayout& layout);

}  // namespace trainctl::client
