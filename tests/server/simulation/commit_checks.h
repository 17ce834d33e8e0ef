// What must hold of each commit, beside all that were before it.
#pragma once

#include <map>
#include <set>
#include <string>

#include "server/store/store.h"

namespace trainctl::core {

class CommitChecks {
 public:
  void Check(const store::Batch& batch);
  // The disk has lost the jobs from that number on: nobody knows that it was given.
  void Forget(base::JobId first);

 private:
  // A job's number is given once, whatever has become of the job.
  void NumbersAreGivenOnce(const store::Batch& batch);
  // Who makes a change is stored with it, or before.
  void ChangesAreAudited(const store::Batch& batch);

  std::set<base::JobId> given_;
  std::map<std::string, int64_t> audited_, changes_;  // how often, by "rm j12"
};

}  // namespace trainctl::core
