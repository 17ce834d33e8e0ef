// What a worker's options let jobs do on its host: whose run there, as which user, and which
// folders they read and write. The coordinator says whose a job is, and places it by these rules;
// the worker judges it by the same ones once more. Thread-safe: values.
#pragma once

#include <compare>
#include <string>
#include <vector>

#include "common/base/file_roots.h"
#include "common/base/result.h"
#include "common/job/job.h"

namespace trainctl::job {

// Stands in a root for the owner's name, as in /home/{user}.
inline constexpr char kOwnerPlaceholder[] = "{user}";

struct HostRules {
  std::vector<std::string> owners;  // whose jobs run here; empty: everyone's
  base::FileRoots roots;            // with placeholders
  bool run_as_owner = false;        // as the owner's account; else as the worker's own user

  bool bounds_jobs() const { return run_as_owner || !owners.empty() || bounds_files(); }
  bool bounds_files() const { return !roots.read.empty() || !roots.write.empty(); }
  auto operator<=>(const HostRules&) const = default;
};

// The account that a job of this owner runs as; empty: the worker's own. kInvalid: nobody knows
// whose it is.
base::Result<std::string> UserOf(const HostRules& rules, const std::string& owner);

// The roots of the owner's jobs. kInvalid: the owner's jobs don't run on this host, or a root can't
// be named after them.
base::Result<base::FileRoots> RootsOf(const HostRules& rules, const std::string& owner);

// Whether a job of this owner may run by these rules as far as names tell. Where its paths truly
// lead only the host can see, which looks (base::CheckWithin). kInvalid: the owner's jobs don't run
// there, whatever they name. kDenied: a path lies outside of the roots by its name.
base::Status CheckByName(const HostRules& rules, const std::string& owner, const JobSpec& job);

}  // namespace trainctl::job
