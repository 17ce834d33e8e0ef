// What `trainctl top` shows, as rows for a terminal. Pure. Texts of others are escaped; the rows
// have our own styles (show/escaping.h).
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "client/top/site_view.h"
#include "client/top/state.h"

namespace trainctl::client {

struct Paper {
  int columns = 80;  // 0: unlimited
  int rows = 24;     // 0: as many as it takes, all devices and jobs, and nothing about keys
  bool colour = false;
  bool unicode = true;
};

std::vector<std::string> SitePicture(const SiteView& site, const TopState& state,
                                     const Paper& paper);

// `lines` are of the job's log, the newest last. Notes in the state what the keys need to know.
std::vector<std::string> LogPicture(const SiteView& site, const std::deque<std::string>& lines,
                                    const Paper& paper, TopState* state);

std::vector<std::string> HelpPicture(const Paper& paper);

}  // namespace trainctl::client
