#include "client/top/site_view.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace trainctl::client {
namespace {

// "j9" is before "j10".
auto AgeOf(const v1::JobView& job) { return std::pair(job.id().size(), job.id()); }

}  // namespace

std::vector<const v1::JobView*> SiteView::jobs() const {
  std::vector<const v1::JobView*> all;
  for (const auto* part : {&running, &queued, &ended}) {
    for (const v1::JobView& job : *part) all.push_back(&job);
  }
  return all;
}

const v1::JobView* SiteView::Find(const std::string& id) const {
  for (const v1::JobView* job : jobs()) {
    if (job->id() == id) return job;
  }
  return nullptr;
}

SiteView SiteViewOf(std::string server, int64_t time, const v1::ListResponse& unfinished,
                    const v1::ListResponse& ended) {
  SiteView site{.server = std::move(server), .time = time};
  site.workers.assign(unfinished.workers().begin(), unfinished.workers().end());
  for (const v1::JobView& job : unfinished.jobs())
    (job.state() == "QUEUED" ? site.queued : site.running).push_back(job);
  site.ended.assign(ended.jobs().begin(), ended.jobs().end());
  std::ranges::sort(site.running, {}, AgeOf);
  std::ranges::sort(site.queued, {},
                    [](const v1::JobView& job) { return std::pair(-job.priority(), AgeOf(job)); });
  std::ranges::stable_sort(site.ended, std::ranges::greater(), &v1::JobView::ended_at);
  std::ranges::sort(site.workers, {}, [](const v1::WorkerView& worker) {
    return std::tuple(worker.host(), worker.name().size(), worker.name());
  });
  return site;
}

}  // namespace trainctl::client
