// Which job writes to which output.dir, of those that have not ended and of one submission: two of
// them never share a folder, whatever way its path is spelled. Not thread-safe.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "common/job/job.h"
#include "common/json/problem.h"

namespace trainctl::job {

class FolderClaims {
 public:
  // live: the job ("j7") that has not ended and writes to a normal folder (NormalFolder); empty:
  // none does.
  using LiveWriter = std::function<std::string(const std::string& folder)>;
  explicit FolderClaims(LiveWriter live) : live_(std::move(live)) {}

  // The job takes its folder. A problem: it is another's. A job that writes nothing takes none.
  std::optional<Problem> Claim(const JobSpec& job);

 private:
  const LiveWriter live_;
  std::map<std::string, std::string> writers_;  // of this submission: names, by folder
};

}  // namespace trainctl::job
