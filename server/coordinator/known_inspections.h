// The newest inspections that workers answered, so that a client which sends one along can be
// believed. The loop's thread only.
#pragma once

#include <cstddef>
#include <deque>
#include <set>
#include <string>

#include "common/estimate/inspection.h"
#include "common/estimate/inspection_key.h"
#include "common/estimate/memory_estimate.h"
#include "common/job/job.h"

namespace trainctl::coordinator {

class KnownInspections {
 public:
  static constexpr size_t kMost = 1024;
  static constexpr size_t kMostBytes = 32 << 20;

  // A worker has answered this. The oldest make room.
  void Add(const job::JobSpec& job, const job::Inspection& inspection) {
    const auto [known, is_new] = known_.insert(KnownAs(job, inspection));
    if (!is_new) return;
    bytes_ += known->size();
    by_age_.push_back(known);
    while (known_.size() > kMost || bytes_ > kMostBytes) {
      bytes_ -= by_age_.front()->size();
      known_.erase(by_age_.front());
      by_age_.pop_front();
    }
  }

  // Whether a worker answered this for such a job, not too long ago.
  bool Has(const job::JobSpec& job, const job::Inspection& inspection) const {
    return known_.contains(KnownAs(job, inspection));
  }

 private:
  static std::string KnownAs(const job::JobSpec& job, const job::Inspection& inspection) {
    return job::InspectionKey(job) + "\n" + job::ToJson(inspection);
  }

  std::set<std::string> known_;
  std::deque<std::set<std::string>::const_iterator> by_age_;  // the oldest first
  size_t bytes_ = 0;                                          // of them
};

}  // namespace trainctl::coordinator
