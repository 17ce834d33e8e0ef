#include "client/top/memory_turns.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace trainctl::client {

void MemoryTurns::Read(Api& api, size_t most, SiteView* site) {
  ++turn_;
  std::map<std::string, Known> known;
  std::vector<const v1::JobView*> due;
  for (const v1::JobView& job : site->running) {
    known[job.id()] = std::move(jobs_[job.id()]);
    const int64_t last = known[job.id()].turn;
    if (last == 0 || turn_ - last >= kTurnsOfAJob) due.push_back(&job);
  }
  jobs_ = std::move(known);
  std::ranges::stable_sort(due, {},
                           [this](const v1::JobView* job) { return jobs_[job->id()].turn; });
  for (const v1::JobView* job : due) {
    if (most-- == 0) break;
    Known& now = jobs_[job->id()];
    now.turn = turn_;
    v1::GetRequest request;
    request.set_job(job->id());
    const auto response = api.Get(request);
    if (!response.ok()) break;  // the next frame's list tells why
    if (response->jobs_size() == 1)
      now.memory = HeldMemoryOf(response->jobs(0), FirstDeviceOf(*site, *job));
  }
  for (const auto& [id, job] : jobs_) {
    if (job.memory) site->memory[id] = *job.memory;
  }
}

}  // namespace trainctl::client
