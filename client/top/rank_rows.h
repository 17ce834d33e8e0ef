// The ranks of an opened job, a row each, and what happened to it. Pure.
#pragma once

#include <string>
#include <vector>

#include "client/top/picture.h"

namespace trainctl::client {

// Of its last attempt: device, what each does, how far it is, and the load of its device. At most
// `most` rows, the header among them (0: unlimited). Empty: there are none.
std::vector<std::string> RankRows(const v1::JobDetail& detail, const SiteView& site,
                                  const Paper& paper, int most);

// The newest last.
std::vector<std::string> EventRows(const v1::JobDetail& detail, const Paper& paper, int most);

}  // namespace trainctl::client
