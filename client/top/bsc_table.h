// Hosts as the monitor of BSC's clusters shows them, a row each. Pure.
#pragma once

#include "client/show/output.h"
#include "client/show/text_table.h"
#include "client/top/site_view.h"

namespace trainctl::client {

// NODE, NCPUS, CPU %, AVAIL MEM, FREE MEM, MEM %, POWER, and of each GPU GPUi % and MEMi %. AVAIL
// MEM is all that the host has, POWER that of its GPUs. An empty cell is not known.
TextTable BscTable(const SiteView& site);

// The same for scripts: {"node", "cpus", "cpu_percent", "memory_bytes", "memory_used_bytes",
// "gpus":
// [{"device", "utilization_percent", "memory_used_bytes", "memory_bytes", "power_watts"}]}. null:
// not known.
Listing BscListing(const SiteView& site);

}  // namespace trainctl::client
