#include "server/core/queue.h"

#include <algorithm>
#include <iterator>

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

// As it stands in the lane.
Place PlaceIn(const Queue::Lane& lane, Place place) {
  if (lane.user != nullptr && place.share != kLifted) place.share = 0;
  return place;
}

void Renew(Queue::Lane* lane, const Queue::ShareOfJob& share_of_job) {
  std::map<Place, Queue::Waiting> jobs;
  lane->by_length.clear();
  for (const auto& [old, waiting] : lane->jobs) {
    const Place place{old.priority, old.job, share_of_job(old.job)};
    jobs.emplace(place, waiting);
    if (waiting.length) lane->by_length[*waiting.length].insert(place);
  }
  lane->jobs = std::move(jobs);
}

}  // namespace

Place Queue::Lane::Whole(Place place) const {
  if (user != nullptr && place.share != kLifted) place.share = share;
  return place;
}

std::optional<Place> Queue::Lane::FirstWithin(int64_t micros) const {
  std::optional<Place> first;
  for (auto next = by_length.begin(); next != by_length.end() && next->first <= micros; ++next) {
    if (!first || *next->second.begin() < *first) first = *next->second.begin();
  }
  return first ? std::optional(Whole(*first)) : first;
}

Queue::Length Queue::Lane::ShortestOfSeveral() const {
  if (jobs.size() < 2 || by_length.empty()) return std::nullopt;
  return by_length.begin()->first;
}

void Queue::MoveByShortest(const Lane& lane, Length before) {
  const Length shortest = lane.ShortestOfSeveral();
  if (shortest == before) return;
  if (before) lane.kind->by_shortest.erase({*before, &lane});
  if (shortest) lane.kind->by_shortest.emplace(*shortest, &lane);
}

Queue::Lane& Queue::FindLane(const Demand& wanted) {
  const auto [found, is_new] = lanes_.try_emplace(wanted);
  Lane& lane = found->second;
  if (!is_new) return lane;
  lane.demand = &found->first;
  lane.kind = &FindKind(wanted);
  if (wanted.user.empty()) return lane;
  const size_t users = users_.size();
  const auto [user, is_new_user] = users_.try_emplace(wanted.user);
  if (is_new_user) user->second = {.name = wanted.user, .number = users, .heads = {}};
  lane.user = &user->second;
  return lane;
}

Queue::Kind& Queue::FindKind(const Demand& wanted) {
  Demand of_any = wanted;
  of_any.user.clear();
  const auto [found, is_new] = kinds_.try_emplace(std::move(of_any));
  Kind& kind = found->second;
  if (!is_new) return kind;
  kind.demand = &found->first;
  if (vacant_numbers_.empty()) {
    kind.number = kind_numbers_++;
  } else {
    kind.number = vacant_numbers_.back();
    vacant_numbers_.pop_back();
  }
  return kind;
}

void Queue::ForgetKind(const Kind& kind) {
  vacant_numbers_.push_back(kind.number);
  kinds_.erase(kinds_.find(*kind.demand));
}

void Queue::ShowHead(const Lane& lane) {
  const auto& [place, waiting] = *lane.jobs.begin();
  const Head shown{&lane, waiting.length, waiting.job};
  Heads& heads = lane.kind->heads;
  const auto head = heads.emplace(lane.Whole(place), shown).first;
  if (head == heads.begin()) {
    if (heads.size() > 1) firsts_.erase(std::next(head)->first);
    firsts_.emplace(head->first, lane.kind);
  }
  if (lane.user != nullptr) lane.user->heads.emplace(place, shown);
}

void Queue::HideHead(const Lane& lane) {
  const Place& place = lane.jobs.begin()->first;
  Heads& heads = lane.kind->heads;
  const auto head = heads.find(lane.Whole(place));
  CHECK(head != heads.end()) << base::ToString(place.job) << " is not the first of its lane";
  const bool was_first = head == heads.begin();
  if (was_first) firsts_.erase(head->first);
  heads.erase(head);
  if (was_first && !heads.empty()) firsts_.emplace(heads.begin()->first, lane.kind);
  if (lane.user != nullptr) lane.user->heads.erase(place);
}

void Queue::Add(const Demand& wanted, const Place& place, Length length, Job* job) {
  Lane& lane = FindLane(wanted);
  const Place own = PlaceIn(lane, place);
  const bool is_first = lane.jobs.empty() || own < lane.jobs.begin()->first;
  if (is_first && !lane.jobs.empty()) HideHead(lane);
  const Length shortest = lane.ShortestOfSeveral();
  if (lane.user != nullptr && place.share != kLifted) lane.share = place.share;
  CHECK(lane.jobs.emplace(own, Waiting{length, job}).second)
      << base::ToString(place.job) << " is queued already";
  if (length) {
    lane.by_length[*length].insert(own);
    ++lengths_[wanted.devices][*length];
  }
  MoveByShortest(lane, shortest);
  if (is_first) ShowHead(lane);
  ++size_;
}

void Queue::Remove(const Demand& wanted, const Place& place, Length length) {
  const auto found = lanes_.find(wanted);
  CHECK(found != lanes_.end()) << base::ToString(place.job) << " is not queued";
  Lane& lane = found->second;
  const Place own = PlaceIn(lane, place);
  const bool is_first = own == lane.jobs.begin()->first;
  if (is_first) HideHead(lane);
  const Length shortest = lane.ShortestOfSeveral();
  CHECK(lane.jobs.erase(own) == 1) << base::ToString(place.job) << " is not queued";
  if (length) {
    const auto alike = lane.by_length.find(*length);
    CHECK(alike != lane.by_length.end() && alike->second.erase(own) == 1)
        << base::ToString(place.job) << " is queued with another length than " << *length;
    if (alike->second.empty()) lane.by_length.erase(alike);
    ForgetLength(wanted.devices, *length);
  }
  MoveByShortest(lane, shortest);
  --size_;
  if (!lane.jobs.empty()) {
    if (is_first) ShowHead(lane);
    return;
  }
  if (lane.kind->heads.empty()) ForgetKind(*lane.kind);
  lanes_.erase(found);
}

void Queue::ForgetLength(int64_t devices, int64_t length) {
  const auto of_devices = lengths_.find(devices);
  const auto count = of_devices->second.find(length);
  if (--count->second > 0) return;
  of_devices->second.erase(count);
  if (of_devices->second.empty()) lengths_.erase(of_devices);
}

void Queue::Reshare(const ShareOfUser& share_of_user, const ShareOfJob& share_of_job) {
  firsts_.clear();
  for (auto& [name, user] : users_) {
    if (!user.heads.empty()) user.share = share_of_user(name);
  }
  for (auto& [demand, lane] : lanes_) {
    Heads& heads = lane.kind->heads;
    auto head = heads.extract(lane.Whole(lane.jobs.begin()->first));
    CHECK(!head.empty()) << base::ToString(lane.jobs.begin()->first.job) << " is no head";
    if (lane.user == nullptr) {
      Renew(&lane, share_of_job);
    } else {
      lane.share = lane.user->share;
    }
    const auto& [place, waiting] = *lane.jobs.begin();
    head.key() = lane.Whole(place);
    head.mapped() = {&lane, waiting.length, waiting.job};
    heads.insert(std::move(head));
  }
  for (const auto& [demand, kind] : kinds_) firsts_.emplace(kind.heads.begin()->first, &kind);
}

const Queue::User* Queue::FindUser(const std::string& name) const {
  const auto found = users_.find(name);
  return found == users_.end() ? nullptr : &found->second;
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
