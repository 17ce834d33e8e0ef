// Follows jobs until they all ended, with progress: what wait and submit --wait share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/context.h"
#include "client/exit_code.h"

namespace trainctl::client {

struct FollowOptions {
  std::vector<std::string> jobs;  // ids or names, groups too
  std::string again;              // the words by which to follow again: "j12"
  std::string undone;             // said as well: what the caller would have done behind it
  std::optional<int64_t> timeout_seconds;  // of waiting; the jobs go on
  bool coordinator_answered = false;       // before: then its silence is borne for a while
};

struct Followed {
  int exit_code = kExitOk;
  std::vector<v1::JobView> jobs;  // as last seen
};

// Ctrl-C ends trainctl, never a job. A coordinator that went away is asked again for ten minutes.
// Errors are printed.
Followed Follow(Context& context, const FollowOptions& options);

// Of one that FINISHED.
ExitCode ExitCodeOfJob(const v1::JobView& view);

}  // namespace trainctl::client
