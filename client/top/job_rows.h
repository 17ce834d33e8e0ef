// Jobs that run, wait and have ended, a row each below a header for each of the three. Pure.
#pragma once

#include <string>
#include <vector>

#include "client/top/picture.h"

namespace trainctl::client {

struct JobRows {
  std::vector<std::string> rows;
  size_t selected = 0;  // the row of the selected job; 0: none is
};

JobRows RowsOfJobs(const SiteView& site, const std::string& selected, const Paper& paper);

// All that its row has no room for: "j12 my-lab-a · anna · RUNNING on node3/0,1". Empty: no job.
std::string JobSentence(const v1::JobView* job);

}  // namespace trainctl::client
