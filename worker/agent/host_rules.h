// What this worker's options let jobs do on its host: whose run here, as which user, and which
// folders they read and write. The coordinator says whose a job is; what it lets through is judged
// here once more. Thread-safe: values.
#pragma once

#include <string>
#include <vector>

#include "common/base/file_roots.h"
#include "common/base/result.h"

namespace trainctl::agent {

// Stands in a root for the owner's name, as in /home/{user}.
inline constexpr char kOwnerPlaceholder[] = "{user}";

struct HostRules {
  std::vector<std::string> owners;  // whose jobs run here; empty: everyone's
  base::FileRoots roots;            // with placeholders
  bool run_as_owner = false;        // as the owner's account; else as the worker's own user

  bool bounds_files() const { return !roots.read.empty() || !roots.write.empty(); }
};

// The account that a job of this owner runs as; empty: the worker's own. kInvalid: nobody knows
// whose it is.
base::Result<std::string> UserOf(const HostRules& rules, const std::string& owner);

// The roots of the owner's jobs. kInvalid: the owner's jobs don't run on this host, or a root can't
// be named after them.
base::Result<base::FileRoots> RootsOf(const HostRules& rules, const std::string& owner);

}  // namespace trainctl::agent
