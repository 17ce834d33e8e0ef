// How many devices a job holds while it runs: as many as it has ranks. An exclusive one holds all
// of its hosts, because nobody else can use the rest. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/job/job.h"
#include "common/job/site.h"

namespace trainctl::job {

// A host that an exclusive job could have.
struct WholeHost {
  int64_t usable = 0;  // devices that its ranks could have
  int64_t all = 0;     // devices that it would hold there
};

struct WholeHosts {
  int64_t devices = 0;        // that they have, all together
  std::vector<size_t> hosts;  // places of those taken, rising
};

// Of these hosts those on which so many ranks hold the fewest devices; of equal ones as few hosts
// as possible. nullopt: all together have too few.
std::optional<WholeHosts> FewestDevices(const std::vector<WholeHost>& hosts, int64_t ranks);

// What the job holds at least. `reached`: devices of the site that it may use, by their rules.
// Where the site has too few for it: as many as it asks for.
int64_t LeastHeldDevices(const JobSpec& job, const std::vector<SiteDevice>& reached,
                         const std::vector<SiteDevice>& site);

}  // namespace trainctl::job
