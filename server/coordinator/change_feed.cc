#include "server/coordinator/change_feed.h"

#include <utility>

namespace trainctl::coordinator {

ChangeFeed::Subscription ChangeFeed::Subscribe(const std::vector<base::JobId>& jobs,
                                               Callback callback) {
  const Subscription subscription = next_++;
  for (base::JobId job : jobs) by_job_[job].insert(subscription);
  subscribers_[subscription] = {jobs, std::move(callback)};
  return subscription;
}

void ChangeFeed::Unsubscribe(Subscription subscription) {
  const auto found = subscribers_.find(subscription);
  if (found == subscribers_.end()) return;
  for (base::JobId job : found->second.jobs) {
    const auto by_job = by_job_.find(job);
    if (by_job == by_job_.end()) continue;
    by_job->second.erase(subscription);
    if (by_job->second.empty()) by_job_.erase(by_job);
  }
  subscribers_.erase(found);
}

void ChangeFeed::Flush() {
  std::map<Subscription, std::set<base::JobId>> news;
  for (base::JobId job : std::exchange(marked_, {})) {
    const auto found = by_job_.find(job);
    if (found == by_job_.end()) continue;
    for (Subscription subscription : found->second) news[subscription].insert(job);
  }
  for (const auto& [subscription, jobs] : news) {
    const auto found = subscribers_.find(subscription);
    if (found == subscribers_.end()) continue;  // an earlier callback unsubscribed it
    const Callback callback = found->second.callback;
    callback(jobs);
  }
}

}  // namespace trainctl::coordinator
