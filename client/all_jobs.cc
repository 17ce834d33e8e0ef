#include "client/all_jobs.h"

#include <limits>
#include <utility>

namespace trainctl::client {

base::Result<std::vector<v1::JobView>> ListAllJobs(Api& api, v1::ListRequest request) {
  request.set_limit(std::numeric_limits<int64_t>::max());
  std::vector<v1::JobView> jobs;
  while (true) {
    base::Result<v1::ListResponse> page = api.List(request);
    if (!page.ok()) return page.error();
    for (v1::JobView& job : *page->mutable_jobs()) jobs.push_back(std::move(job));
    if (!page->more() || page->jobs().empty()) return jobs;
    request.set_before(jobs.back().id());
  }
}

}  // namespace trainctl::client
