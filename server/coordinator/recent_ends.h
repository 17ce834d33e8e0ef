// How the jobs ended whose ends were stored last. The scheduler's state no longer has them. A list
// may have been read from the store before an end: it would have two jobs on one device. Counts
// all of them too. The loop's thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>

#include "common/base/ids.h"
#include "server/core/rows.h"

namespace trainctl::coordinator {

class RecentEnds {
 public:
  // More than end while the store is read.
  static constexpr size_t kMost = 4096;

  // A job that is told again is kept as it was told last.
  void Add(base::JobId job, const core::JobStatus& status) {
    if (ends_.insert_or_assign(job, status).second) {
      order_.push_back(job);
      if (status.end) ++counts_[status.end->outcome];
    }
    if (order_.size() <= kMost) return;
    ends_.erase(order_.front());
    order_.pop_front();
  }
  // Until the next change; nullptr: it did not end of late.
  const core::JobStatus* Find(base::JobId job) const {
    const auto found = ends_.find(job);
    return found == ends_.end() ? nullptr : &found->second;
  }
  // By outcome, of all that were told; nobody's removal makes them fewer.
  const std::map<job::Outcome, int64_t>& counts() const { return counts_; }

 private:
  std::map<base::JobId, core::JobStatus> ends_;
  std::deque<base::JobId> order_;  // the oldest first
  std::map<job::Outcome, int64_t> counts_;
};

}  // namespace trainctl::coordinator
