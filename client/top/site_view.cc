#include "client/top/site_view.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <tuple>
#include <utility>

#include "client/show/decoded.h"

namespace trainctl::client {
namespace {

// "j9" is before "j10".
auto AgeOf(const v1::JobView& job) { return std::pair(job.id().size(), job.id()); }

std::string FoldedCase(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

bool Matches(const v1::JobView& job, const std::string& lower) {
  const auto has = [&lower](const std::string& text) {
    return FoldedCase(text).find(lower) != std::string::npos;
  };
  return has(job.id()) || has(job.name()) || has(job.owner()) || has(job.group_name()) ||
         std::ranges::any_of(job.tags(), has) || std::ranges::any_of(job.placement(), has);
}

LoadCurve CurveOf(const google::protobuf::RepeatedField<int32_t>& percents) {
  LoadCurve curve;
  const int count = std::min(percents.size(), kLoadBuckets);
  for (int i = 0; i < count; ++i) {
    const int32_t percent = percents[percents.size() - count + i];
    if (percent >= 0) curve[static_cast<size_t>(kLoadBuckets - count + i)] = percent;
  }
  return curve;
}

// A host's is what the last of its workers tells of it.
std::map<std::string, LoadCurve> LoadsOf(const std::vector<v1::WorkerView>& workers) {
  std::map<std::string, LoadCurve> loads;
  for (const v1::WorkerView& worker : workers) {
    loads[worker.name()] = CurveOf(worker.load_history().device_percent());
    if (worker.has_host_sample())
      loads[worker.host()] = CurveOf(worker.load_history().host_percent());
  }
  return loads;
}

// Of equals the order stays.
void Sort(JobOrder order, std::vector<v1::JobView>* jobs) {
  const auto by = [jobs](auto key) { std::ranges::stable_sort(*jobs, {}, key); };
  switch (order) {
    case JobOrder::kAge: return;
    case JobOrder::kName: return by([](const v1::JobView& job) { return FoldedCase(job.name()); });
    case JobOrder::kOwner:
      return by([](const v1::JobView& job) { return FoldedCase(job.owner()); });
    case JobOrder::kLeft:
      return by([](const v1::JobView& job) {
        return job.remaining_seconds() > 0 ? job.remaining_seconds()
                                           : std::numeric_limits<double>::infinity();
      });
    case JobOrder::kPeak:
      return by([](const v1::JobView& job) { return -job.peak_allocated_bytes(); });
  }
}

}  // namespace

BarDevice FirstDeviceOf(const SiteView& site, const v1::JobView& job) {
  for (const v1::WorkerView& worker : site.workers) {
    if (job.placement_size() > 0 && worker.name() == job.placement(0))
      return {worker.device().memory_bytes(), KindOf(worker) == job::DeviceKind::kCpu};
  }
  return {};
}

SiteView Arranged(SiteView site, JobOrder order, const std::string& filter) {
  const std::string lower = FoldedCase(filter);
  site.all_running = site.running.size();
  site.all_queued = site.queued.size();
  for (auto* part : {&site.running, &site.queued, &site.ended}) {
    if (!lower.empty())
      std::erase_if(*part, [&lower](const v1::JobView& job) { return !Matches(job, lower); });
  }
  Sort(order, &site.running);
  site.filter = filter;
  return site;
}

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
    (StateOf(job) == job::JobState::kQueued ? site.queued : site.running).push_back(job);
  site.ended.assign(ended.jobs().begin(), ended.jobs().end());
  std::ranges::sort(site.running, {}, AgeOf);
  std::ranges::sort(site.queued, {},
                    [](const v1::JobView& job) { return std::pair(-job.priority(), AgeOf(job)); });
  std::ranges::stable_sort(site.ended, std::ranges::greater(), &v1::JobView::ended_at);
  std::ranges::sort(site.workers, {}, [](const v1::WorkerView& worker) {
    return std::tuple(worker.host(), worker.name().size(), worker.name());
  });
  site.loads = LoadsOf(site.workers);
  return site;
}

}  // namespace trainctl::client
