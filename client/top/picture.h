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

// Notes in the state what the keys need to know.
std::vector<std::string> SitePicture(const SiteView& site, const Paper& paper, TopState* state);

// What is seen of the job that is open.
struct OpenJob {
  const std::deque<std::string>& lines;  // of its log, the newest last
  std::string memory = {};               // a row (show/memory_bar.h); empty: not known
  v1::JobDetail detail = {};             // its ranks and events
};
// Its ranks, its last events and the end of its log. Notes in the state what the keys need to know.
std::vector<std::string> LogPicture(const SiteView& site, const OpenJob& open, const Paper& paper,
                                    TopState* state);

std::vector<std::string> HelpPicture(const Paper& paper);

}  // namespace trainctl::client
