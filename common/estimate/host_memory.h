// Whether hosts can hold what a job keeps in their memory beside its GPUs: the optimizer of each
// rank, where it is offloaded. On CPU slots that is part of the slot's memory (fit.h). Pure,
// thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/estimate/inspection.h"
#include "common/estimate/memory_estimate.h"
#include "common/job/job.h"
#include "common/job/site.h"
#include "common/json/problem.h"

namespace trainctl::job {

struct HostShortage {
  int64_t rank_bytes = 0;  // that each rank keeps in host memory
  int64_t ranks = 0;
  int64_t room = 0;        // ranks that all hosts together have room for
  int64_t host_bytes = 0;  // of the host that has most

  // "the optimizer in host memory takes 75.30 GiB a rank; hosts of at most 64.00 GiB have room …"
  std::string Text() const;
};

// Of the hosts of GPUs that meet the job's constraints; each rank needs one of these. nullopt: they
// have room, the memory of one of them is not known, or there are no such GPUs. The margin is that
// of fit.h: the host and the ranks' processes need some too.
std::optional<HostShortage> FindHostShortage(const JobSpec& job, const MemoryEstimate& on_gpu,
                                             const std::vector<SiteDevice>& devices);

// That as a problem, where the job would run on GPUs. Empty too if it expects to run out of memory.
std::vector<Problem> CheckHostMemory(const JobSpec& job, const Inspection& inspection,
                                     const std::vector<SiteDevice>& devices);

}  // namespace trainctl::job
