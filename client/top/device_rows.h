// Hosts and devices with their load, a row each. Pure.
#pragma once

#include <string>
#include <vector>

#include "client/top/picture.h"

namespace trainctl::client {

// At most `most` rows, the header among them (0: unlimited): every device below its host; or the
// hosts alone, where not all devices fit and state.all_devices does not ask for them. Where not all
// rows fit they begin at state->devices_first; notes there what the keys need to know.
std::vector<std::string> DeviceRows(const SiteView& site, const Paper& paper, int most,
                                    TopState* state);

// "98 %" behind its bar, "43.8/139.8 GiB"; empty where a device does not tell.
std::string DeviceLoadText(const v1::WorkerView& worker, const Paper& paper);
std::string DeviceMemoryText(const v1::WorkerView& worker);

// Where bars are long.
bool IsWide(const Paper& paper);

// "98 %" behind its bar.
std::string LoadText(double percent, const Paper& paper);

}  // namespace trainctl::client
