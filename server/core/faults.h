// Faults of devices, as their workers tell them (common/job/device_fault.h). A bad device gets
// nothing new until an operator undrains it. A suspect one gets nothing until its worker tells the
// fault no more; a worker that begins anew has forgotten it, and is not believed for a while. What
// runs there goes on.
#pragma once

#include <string>
#include <vector>

#include "server/core/turn.h"

namespace trainctl::core {

// Before the faults of a Hello are taken: a worker that has begun anew knows of none.
void RememberSuspicion(Turn& turn, Worker& worker, const std::string& incarnation);
// Once a second: what was remembered is over after so long without a fault.
void EndSuspicion(Turn& turn);
// All faults that count now, as a worker tells them: what is new is said to the job there.
void TakeFaults(Turn& turn, Worker& worker, const std::vector<job::DeviceFault>& told);
// An operator's word that they don't count any more.
void ClearFaults(Turn& turn, const Worker& worker);
// The worker is no more in the inventory, or has another device.
void ForgetFaults(Turn& turn, const std::string& worker);

}  // namespace trainctl::core
