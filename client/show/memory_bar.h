// The memory of a job's rank by kind, as a stacked bar. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/job/outcome.h"
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

// At the phase at which what is on the device is most together.
struct HeldMemory {
  job::MemoryByKind kinds;  // of those that are elsewhere 0
  int64_t whole = 0;
  int64_t predicted_peak = 0;  // 0: not known
  int64_t limit = 0;           // the device's size, or what the job may take; 0: not known
};

// nullopt: nothing is measured yet.
std::optional<HeldMemory> HeldMemoryOf(const v1::JobDetail& detail, const BarDevice& device);

// A row: what the device's memory holds by kind (kMemoryKinds), and what each is. It reaches up to
// the limit. "|" stands at the predicted peak. "": nothing is measured yet.
std::string MemoryBar(const v1::JobDetail& detail, const BarDevice& device,
                      const BarLayout& layout);

// The bar alone, of layout.columns.
std::string ShortMemoryBar(const HeldMemory& memory, const BarLayout& layout);

// "█ params ▓ grads …": how each kind is drawn.
std::string MemoryBarLegend(bool unicode);

}  // namespace trainctl::client
