// Tells subscribers which of their jobs changed, however often they did since the last Flush: so a
// stream hears of a job at most once a flush. The loop's thread only; a callback may subscribe and
// unsubscribe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "common/base/ids.h"

namespace trainctl::coordinator {

class ChangeFeed {
 public:
  using Subscription = int64_t;
  using Callback = std::function<void(const std::set<base::JobId>& changed)>;

  Subscription Subscribe(const std::vector<base::JobId>& jobs, Callback callback);
  void Unsubscribe(Subscription subscription);

  void Mark(base::JobId job) { marked_.insert(job); }
  void Flush();

 private:
  struct Subscriber {
    std::vector<base::JobId> jobs;
    Callback callback;
  };
  std::map<Subscription, Subscriber> subscribers_;
  std::map<base::JobId, std::set<Subscription>> by_job_;
  std::set<base::JobId> marked_;
  Subscription next_ = 1;
};

}  // namespace trainctl::coordinator
