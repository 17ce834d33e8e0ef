// Hosts and devices with their load, a row each. Pure.
#pragma once

#include <string>
#include <vector>

#include "client/top/picture.h"

namespace trainctl::client {

// At most `most` rows, the header among them (0: unlimited): every device below its host; or the
// hosts alone, where not all devices fit.
std::vector<std::string> DeviceRows(const SiteView& site, const Paper& paper, int most);

// "98 %" behind its bar.
std::string LoadText(double percent, const Paper& paper);

}  // namespace trainctl::client
