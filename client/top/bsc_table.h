// Hosts as the monitor of BSC's clusters shows them, a row each. Pure.
#pragma once

#include "client/show/text_table.h"
#include "client/top/site_view.h"

namespace trainctl::client {

// NODE, NCPUS, CPU %, AVAIL MEM, FREE MEM, MEM %, POWER, and of each GPU GPUi % and MEMi %. AVAIL
// MEM is all that the host has, POWER that of its GPUs. An empty cell is not known.
TextTable BscTable(const SiteView& site);

}  // namespace trainctl::client
