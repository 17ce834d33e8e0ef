#include "common/job/linked_gang.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <tuple>

namespace trainctl::job {
namespace {

constexpr int64_t kMostSearchSteps = 100'000;

class LinkedSearch {
 public:
  LinkedSearch(size_t count, const AreLinked& are_linked)
      : count_(count), are_linked_(are_linked) {}

  std::vector<size_t> Run(const std::vector<size_t>& candidates) {
    return Grow(candidates) ? chosen_ : std::vector<size_t>();
  }

 private:
  // From those that are linked to all that were chosen.
  bool Grow(const std::vector<size_t>& candidates) {
    if (chosen_.size() == count_) return true;
    for (size_t i = 0; i < candidates.size(); ++i) {
      if (chosen_.size() + candidates.size() - i < count_ || ++steps_ > kMostSearchSteps)
        return false;
      std::vector<size_t> next;
      for (size_t j = i + 1; j < candidates.size(); ++j) {
        if (are_linked_(candidates[i], candidates[j])) next.push_back(candidates[j]);
      }
      chosen_.push_back(candidates[i]);
      if (Grow(next)) return true;
      chosen_.pop_back();
    }
    return false;
  }

  const size_t count_;
  const AreLinked& are_linked_;
  std::vector<size_t> chosen_;
  int64_t steps_ = 0;
};

// Places of those that meet the job's constraints, by host and model.
using Alike =
    std::map<std::tuple<std::string, std::string, int64_t, std::string>, std::vector<size_t>>;

Alike AlikeOf(const JobSpec& job, const std::vector<SiteDevice>& devices) {
  Alike alike;
  std::string reason;
  for (size_t i = 0; i < devices.size(); ++i) {
    const SiteDevice& device = devices[i];
    if (!MeetsConstraints(job, device, &reason)) continue;
    alike[{device.host, device.name, device.memory_bytes, device.compute_capability}].push_back(i);
  }
  return alike;
}

AreLinked LinkedBy(const Constraint& links, const std::vector<SiteDevice>& devices,
                   const std::vector<size_t>& places) {
  return [&](size_t i, size_t j) {
    const SiteDevice &left = devices[places[i]], &right = devices[places[j]];
    return MeetsLink(links, LinkBetween(left.uuid, left.links, right.uuid, right.links));
  };
}

std::vector<size_t> MeetingPlaces(const JobSpec& job, const std::vector<SiteDevice>& devices) {
  std::vector<size_t> places;
  std::string reason;
  for (size_t i = 0; i < devices.size(); ++i) {
    if (MeetsConstraints(job, devices[i], &reason)) places.push_back(i);
  }
  return places;
}

}  // namespace

std::optional<Constraint> LinksAskedFor(const JobSpec& job) {
  const auto asked = job.resources.constraints.find(std::string(kLinksKey));
  if (job.devices < 2 || asked == job.resources.constraints.end()) return std::nullopt;
  auto constraint = ParseConstraint(kLinksKey, asked->second);
  return constraint ? std::optional(std::move(*constraint)) : std::nullopt;
}

std::vector<size_t> FindLinked(size_t devices, size_t count, const AreLinked& are_linked) {
  std::vector<size_t> all(devices);
  std::iota(all.begin(), all.end(), size_t{0});
  return LinkedSearch(count, are_linked).Run(all);
}

size_t MostLinked(size_t devices, size_t most, const AreLinked& are_linked) {
  size_t count = std::min(devices, most);
  while (count > 1 && FindLinked(devices, count, are_linked).empty()) --count;
  return count;
}

std::vector<size_t> AllLinked(size_t devices, size_t count, const AreLinked& are_linked) {
  std::vector<bool> is_linked(devices);
  for (size_t i = 0; i < devices; ++i) {
    if (is_linked[i]) continue;
    std::vector<size_t> near;
    for (size_t j = 0; j < devices; ++j) {
      if (j != i && are_linked(i, j)) near.push_back(j);
    }
    const std::vector<size_t> others = LinkedSearch(count - 1, are_linked).Run(near);
    if (others.size() + 1 != count) continue;
    is_linked[i] = true;
    for (const size_t other : others) is_linked[other] = true;
  }
  std::vector<size_t> all;
  for (size_t i = 0; i < devices; ++i) {
    if (is_linked[i]) all.push_back(i);
  }
  return all;
}

int64_t MostLinked(const JobSpec& job, const std::vector<SiteDevice>& devices) {
  const std::optional<Constraint> links = LinksAskedFor(job);
  size_t most = 0;
  for (const auto& [model, places] : AlikeOf(job, devices)) {
    most = std::max(most, MostLinked(places.size(), static_cast<size_t>(job.devices),
                                     LinkedBy(*links, devices, places)));
  }
  return static_cast<int64_t>(most);
}

std::vector<size_t> PossibleDevices(const JobSpec& job, const std::vector<SiteDevice>& devices) {
  const std::optional<Constraint> links = LinksAskedFor(job);
  if (!links) return MeetingPlaces(job, devices);
  std::vector<size_t> possible;
  for (const auto& [model, places] : AlikeOf(job, devices)) {
    const auto are_linked = LinkedBy(*links, devices, places);
    for (const size_t i : AllLinked(places.size(), static_cast<size_t>(job.devices), are_linked))
      possible.push_back(places[i]);
  }
  std::ranges::sort(possible);
  return possible;
}

std::vector<size_t> FirstGang(const JobSpec& job, const std::vector<SiteDevice>& devices) {
  const auto count = static_cast<size_t>(job.devices);
  const std::optional<Constraint> links = LinksAskedFor(job);
  if (!links) {
    std::vector<size_t> places = MeetingPlaces(job, devices);
    places.resize(places.size() < count ? 0 : count);
    return places;
  }
  for (const auto& [model, places] : AlikeOf(job, devices)) {
    std::vector<size_t> gang = FindLinked(places.size(), count, LinkedBy(*links, devices, places));
    for (size_t& place : gang) place = places[place];
    if (!gang.empty()) return gang;
  }
  return {};
}

}  // namespace trainctl::job
