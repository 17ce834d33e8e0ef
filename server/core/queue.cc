#include "server/core/queue.h"

#include <algorithm>
#include <vector>

#include "common/base/check.h"
#include "common/estimate/gradient_holding.h"

namespace trainctl::core {

Demand DemandOf(const job::JobSpec& spec, const std::optional<job::Inspection>& inspection) {
  Demand demand = {.devices = spec.devices,
                   .precision = spec.precision,
                   .constraints = spec.resources.constraints,
                   .exclusive = spec.exclusive};
  if (!inspection) return demand;
  const auto need = [&](job::DeviceKind kind) {
    const int64_t peak = job::EstimateMemoryOn(spec, *inspection, kind, 0).peak_allocated;
    return std::min(peak, spec.resources.gpu_memory_limit_bytes.value_or(peak));
  };
  demand.gpu_bytes = need(job::DeviceKind::kCuda);
  demand.slot_bytes = need(job::DeviceKind::kCpu);
  return demand;
}

namespace {

// Most lanes are of one user: all their places have one share, and get another.
void Renew(const Demand& lane, const Queue::ShareOf& share_of, std::set<Place>* places) {
  const int64_t old_share = places->begin()->share;
  const int64_t new_share = share_of(lane, places->begin()->job);
  const bool is_uniform = std::ranges::all_of(*places, [&](const Place& place) {
    return place.share == old_share && share_of(lane, place.job) == new_share;
  });
  if (is_uniform) {
    for (const Place& place : *places) place.share = new_share;
    return;
  }
  std::vector<Place> renewed(places->begin(), places->end());
  for (Place& place : renewed) place.share = share_of(lane, place.job);
  std::sort(renewed.begin(), renewed.end());
  *places = std::set<Place>(renewed.begin(), renewed.end());
}

}  // namespace

std::optional<Place> Queue::Lane::FirstWithin(int64_t micros) const {
  std::optional<Place> first;
  for (auto next = by_length.begin(); next != by_length.end() && next->first <= micros; ++next) {
    if (!first || *next->second.begin() < *first) first = *next->second.begin();
  }
  return first;
}

void Queue::Add(const Demand& wanted, const Place& place, Length length) {
  auto& [demand, lane] = *lanes_.try_emplace(wanted).first;
  const bool is_first = lane.jobs.empty() || place < *lane.jobs.begin();
  if (is_first && !lane.jobs.empty()) heads_.erase(*lane.jobs.begin());
  CHECK(lane.jobs.insert(place).second) << base::ToString(place.job) << " is queued already";
  if (length) {
    lane.by_length[*length].insert(place);
    ++lengths_[wanted.devices][*length];
  }
  if (is_first) heads_.emplace(place, &demand);
  ++size_;
}

void Queue::Remove(const Demand& wanted, const Place& place, Length length) {
  const auto found = lanes_.find(wanted);
  CHECK(found != lanes_.end()) << base::ToString(place.job) << " is not queued";
  auto& [demand, lane] = *found;
  const bool is_first = place == *lane.jobs.begin();
  if (is_first) heads_.erase(place);
  CHECK(lane.jobs.erase(place) == 1) << base::ToString(place.job) << " is not queued";
  if (length) {
    const auto alike = lane.by_length.find(*length);
    CHECK(alike != lane.by_length.end() && alike->second.erase(place) == 1)
        << base::ToString(place.job) << " is queued with another length than " << *length;
    if (alike->second.empty()) lane.by_length.erase(alike);
    ForgetLength(wanted.devices, *length);
  }
  --size_;
  if (lane.jobs.empty()) {
    lanes_.erase(found);
  } else if (is_first) {
    heads_.emplace(*lane.jobs.begin(), &demand);
  }
}

void Queue::ForgetLength(int64_t devices, int64_t length) {
  const auto of_devices = lengths_.find(devices);
  const auto count = of_devices->second.find(length);
  if (--count->second > 0) return;
  of_devices->second.erase(count);
  if (of_devices->second.empty()) lengths_.erase(of_devices);
}

void Queue::Reshare(const ShareOf& share_of) {
  heads_.clear();
  for (auto& [demand, lane] : lanes_) {
    Renew(demand, share_of, &lane.jobs);
    for (auto& [length, places] : lane.by_length) Renew(demand, share_of, &places);
    heads_.emplace(*lane.jobs.begin(), &demand);
  }
}

Queue::Length Queue::ShortestOf(int64_t devices) const {
  Length shortest;
  for (auto next = lengths_.begin(); next != lengths_.end() && next->first <= devices; ++next) {
    const int64_t length = next->second.begin()->first;
    shortest = std::min(shortest.value_or(length), length);
  }
  return shortest;
}

}  // namespace trainctl::core
