#include "common/job/site.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>

#include "common/job/constraint.h"
#include "common/job/device.h"
#include "common/job/linked_gang.h"

namespace trainctl::job {
namespace {

std::string Describe(const SiteDevice& device) { return device.host + " " + device.name; }

// As many as its gang may have.
int64_t CountMeeting(const JobSpec& job, const std::vector<SiteDevice>& devices) {
  if (LinksAskedFor(job)) return MostLinked(job, devices);
  std::string reason;
  return std::count_if(devices.begin(), devices.end(), [&](const SiteDevice& device) {
    return MeetsConstraints(job, device, &reason);
  });
}

// bf16 matrices need a GPU of compute capability 8.0; CPU slots store bf16 and compute in fp32.
bool ComputesIn(Precision precision, const SiteDevice& device) {
  static const base::Result<Constraint> needed = ParseConstraint("gpu.compute_capability", ">=8.0");
  return precision == Precision::k32True || device.kind != DeviceKind::kCuda ||
         Meets(*needed, device);
}

// "a, b, c": the first few.
std::string ListOf(const std::set<std::string>& names) {
  constexpr size_t kMost = 8;
  std::string text;
  size_t count = 0;
  for (const std::string& name : names) {
    if (count++ == kMost) return text + ", …";
    text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

// What the site has where a constraint asks for something else.
std::string WhatThereIs(const std::string& key, const std::vector<SiteDevice>& devices) {
  std::set<std::string> hosts, values, labels, models;
  const std::string label(LabelKeyOf(key));
  for (const SiteDevice& device : devices) {
    hosts.insert(device.host);
    if (device.kind == DeviceKind::kCuda) models.insert(device.name);
    const auto value = device.labels.find(label);
    if (value != device.labels.end()) values.insert(value->second);
    for (const auto& [name, text] : device.labels) labels.insert(name);
  }
  const bool is_of_model = key == "gpu.model" || key == "gpu.name";
  if (is_of_model && !models.empty())
    return "what one of this site's GPUs meets, which are: " + ListOf(models);
  if (label.empty())
    return IsOfWorker(key) ? "what one of this site's hosts meets: " + ListOf(hosts)
                           : "what at least one device of this site meets";
  if (!values.empty())
    return "what one of this site's workers meets, whose " + label + " is: " + ListOf(values);
  if (!labels.empty()) return "a label of this site's workers, which have: " + ListOf(labels);
  return "no label: this site's workers have none (trainworker --label KEY=VALUE)";
}

// The job with nothing but what it asks of links.
JobSpec LinksAlone(const JobSpec& job) {
  JobSpec alone;
  alone.precision = Precision::k32True;
  alone.devices = job.devices;
  alone.resources.constraints.insert(*job.resources.constraints.find(std::string(kLinksKey)));
  return alone;
}

// Where it has no gang of devices that are linked as is asked.
std::string WhatIsLinked(const JobSpec& job, const std::vector<SiteDevice>& devices) {
  const bool any =
      std::ranges::any_of(devices, [](const SiteDevice& device) { return !device.links.empty(); });
  if (!any) return "nothing: this site's workers tell of no links between GPUs";
  const int64_t most = MostLinked(LinksAlone(job), devices);
  return "links that " + std::to_string(job.devices) + " devices of one host have, each two of " +
         "them: at most " + std::to_string(most < 2 ? 0 : most) + " of this site have such links";
}

// gpu.links alone speaks of several devices.
bool IsMetBySome(const JobSpec& job, const std::string& key, const std::string& text,
                 const std::vector<SiteDevice>& devices) {
  if (key == kLinksKey && LinksAskedFor(job))
    return MostLinked(LinksAlone(job), devices) >= job.devices;
  const auto constraint = ParseConstraint(key, text);
  return constraint && std::ranges::any_of(devices, [&](const SiteDevice& device) {
           return Meets(*constraint, device);
         });
}

// The constraints that no device of the site meets, each by itself.
std::vector<Problem> UnmeetableConstraints(const JobSpec& job,
                                           const std::vector<SiteDevice>& devices) {
  std::vector<Problem> problems;
  for (const auto& [key, text] : job.resources.constraints) {
    if (IsMetBySome(job, key, text, devices)) continue;
    const bool is_of_links = key == kLinksKey && LinksAskedFor(job);
    problems.push_back({"resources.constraints." + key, 0, text,
                        is_of_links ? WhatIsLinked(job, devices) : WhatThereIs(key, devices), ""});
  }
  const bool computes = std::any_of(devices.begin(), devices.end(), [&](const SiteDevice& d) {
    return ComputesIn(job.precision, d);
  });
  if (!computes && !devices.empty()) {
    problems.push_back(
        {"precision", 0, "",
         "32-true: no GPU of this site computes in bf16, which needs compute capability 8.0", ""});
  }
  return problems;
}

// The largest number of equal kind: a gang does not mix GPUs and CPU slots.
int64_t LargestKind(const JobSpec& job, const std::vector<SiteDevice>& devices) {
  std::set<DeviceKind> kinds;
  for (const SiteDevice& device : devices) kinds.insert(device.kind);
  int64_t largest = 0;
  for (const DeviceKind kind : kinds) {
    std::vector<SiteDevice> of_kind;
    std::copy_if(devices.begin(), devices.end(), std::back_inserter(of_kind),
                 [&](const SiteDevice& device) { return device.kind == kind; });
    largest = std::max(largest, CountMeeting(job, of_kind));
  }
  return largest;
}

// `which`: of the constraints by their keys.
template <class Which>
bool MeetsThose(const JobSpec& job, const SiteDevice& device, const Which& which,
                std::string* reason) {
  if (!ComputesIn(job.precision, device)) {
    *reason = Describe(device) + " does not compute in bf16 (compute capability " +
              device.compute_capability + ", 8.0 is needed)";
    return false;
  }
  for (const auto& [key, text] : job.resources.constraints) {
    if (!which(key)) continue;
    const auto constraint = ParseConstraint(key, text);
    if (constraint && Meets(*constraint, device)) continue;
    *reason = Describe(device) + " does not meet " + key + " " + text;
    return false;
  }
  reason->clear();
  return true;
}

}  // namespace

bool MeetsConstraints(const JobSpec& job, const SiteDevice& device, std::string* reason) {
  return MeetsThose(job, device, [](std::string_view) { return true; }, reason);
}

bool MeetsDeviceConstraints(const JobSpec& job, const SiteDevice& device, std::string* reason) {
  return MeetsThose(job, device, [](std::string_view key) { return !IsOfWorker(key); }, reason);
}

bool MeetsWorkerConstraints(const JobSpec& job, const SiteDevice& device) {
  return std::ranges::all_of(job.resources.constraints, [&](const auto& entry) {
    if (!IsOfWorker(entry.first)) return true;
    const auto constraint = ParseConstraint(entry.first, entry.second);
    return constraint && Meets(*constraint, device);
  });
}

bool NamesWorkers(const JobSpec& job) {
  return std::ranges::any_of(job.resources.constraints,
                             [](const auto& entry) { return IsOfWorker(entry.first); });
}

std::string WorkersText(const JobSpec& job) {
  std::string text;
  for (const auto& [key, value] : job.resources.constraints) {
    if (IsOfWorker(key)) text += (text.empty() ? "" : ", ") + key + " " + value;
  }
  return text;
}

std::vector<Problem> CheckSite(const JobSpec& job, const std::vector<SiteDevice>& devices) {
  std::vector<Problem> problems = UnmeetableConstraints(job, devices);
  if (!problems.empty()) return problems;
  const int64_t most = LargestKind(job, devices);
  if (job.devices <= most) return problems;
  const std::string suffix = job.resources.constraints.empty() ? "" : " that meet the constraints";
  problems.push_back(
      {"devices", 0, std::to_string(job.devices),
       "at most " + std::to_string(most) + ": this site has no more devices" + suffix, ""});
  return problems;
}

int64_t ExclusiveThreads(const std::vector<SiteDevice>& host, DeviceKind kind, int64_t ranks) {
  int64_t threads = 0;
  for (const SiteDevice& device : host) threads += device.kind == kind ? device.threads : 0;
  return std::max<int64_t>(1, threads / std::max<int64_t>(1, ranks));
}

std::string DeviceNameOf(const JobSpec& job, const SiteDevice& device,
                         const std::vector<SiteDevice>& site) {
  if (!job.exclusive || device.kind != DeviceKind::kCpu) return device.name;
  std::vector<SiteDevice> slots;
  std::ranges::copy_if(site, std::back_inserter(slots), [&](const SiteDevice& other) {
    return other.host == device.host && other.kind == device.kind;
  });
  const auto ranks = std::min(job.devices, static_cast<int64_t>(slots.size()));
  return CpuSlotName(ExclusiveThreads(slots, device.kind, ranks));
}

}  // namespace trainctl::job
