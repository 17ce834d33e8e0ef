// The memory by kind of the jobs that run. It is in a job's detail, which is long and changes
// little from step to step: a few are read at a time, in turn. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "client/api.h"
#include "client/top/site_view.h"

namespace trainctl::client {

class MemoryTurns {
 public:
  static constexpr int64_t kTurnsOfAJob = 5;  // it is read at most each so many turns

  // Reads that of at most so many jobs, first of those that were read longest ago. Then tells the
  // view all that is known of its jobs.
  void Read(Api& api, size_t most, SiteView* site);

 private:
  struct Known {
    int64_t turn = 0;  // of the last reading
    std::optional<HeldMemory> memory;
  };

  std::map<std::string, Known> jobs_;  // by id
  int64_t turn_ = 0;
};

}  // namespace trainctl::client
