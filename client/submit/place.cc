#include "client/submit/place.h"

#include <algorithm>
#include <map>
#include <set>

#include "client/show/calendar_time.h"
#include "client/show/decoded.h"
#include "client/show/format.h"
#include "common/base/size.h"
#include "common/estimate/prediction.h"
#include "common/job/lease_room.h"
#include "common/job/linked_gang.h"

namespace trainctl::client {
namespace {

constexpr int64_t kMicrosPerSecond = 1'000'000;

// As the coordinator reckons it before a lease: server/core/run_length.h.
int64_t LongestRunMicros(const Assessment& assessment) {
  if (const auto& limit = assessment.job.resources.time_limit_seconds)
    return *limit * kMicrosPerSecond;
  if (!assessment.time) return job::kLeaseClearanceMicros;
  return static_cast<int64_t>(assessment.time->total_seconds * job::kPredictionMargin *
                              kMicrosPerSecond);
}

// The leases of others, as far as they are in the job's way.
class Others {
 public:
  Others(const Assessment& assessment, const v1::LeasesResponse& leases)
      : leases_(leases), ends_(leases.now() + leases.grace_us() + LongestRunMicros(assessment)) {}

  // Whether one of them has the device, or wants it before the job would end.
  bool Take(const SiteWorker& worker) {
    for (const v1::Lease& lease : leases_.leases()) {
      if (std::ranges::count(lease.workers(), worker.name) == 0) continue;
      const bool has = lease.start() <= leases_.now();
      const bool wants = lease.start() > leases_.now() && lease.start() < ends_;
      if (!has && !(wants && worker.state == job::WorkerState::kReady)) continue;
      ++taken_[&lease];
      return true;
    }
    return false;
  }

  // "; lease 'lab' of ann has 2 of them until 2026-12-01 18:30 CET (17:30 UTC)".
  std::string Text() const {
    std::string text;
    for (const v1::Lease& lease : leases_.leases()) {
      const auto taken = taken_.find(&lease);
      if (taken == taken_.end()) continue;
      const std::string count = std::to_string(taken->second);
      text += "; " + job::LeaseText(lease.name(), lease.owner()) +
              (lease.start() <= leases_.now()
                   ? " has " + count + " of them until " + LocalAndUtc(lease.end())
                   : " wants " + count + " of them from " + LocalAndUtc(lease.start()) +
                         ", before this job would end");
    }
    return text;
  }

 private:
  const v1::LeasesResponse& leases_;
  const int64_t ends_;
  std::map<const v1::Lease*, int64_t> taken_;
};

// Devices of a lease are no others' while it lasts.
bool IsFree(const SiteWorker& worker, bool is_leased) {
  return worker.state == job::WorkerState::kReady ||
         (is_leased && worker.state == job::WorkerState::kLeased);
}

std::string KindsText(const Assessment& assessment) {
  std::set<std::string> names;
  for (const SiteWorker& worker : assessment.candidates) names.insert(worker.device.name);
  return " (" + Join(names, ", ") + ")";
}

// The names of those that it would get, if it had these to choose from; empty: they are too few.
std::vector<std::string> FirstOf(const Assessment& assessment,
                                 const std::vector<SiteWorker>& workers) {
  std::vector<job::SiteDevice> devices;
  for (const SiteWorker& worker : workers) devices.push_back(worker.device);
  std::vector<std::string> names;
  for (const size_t place : job::FirstGang(assessment.job, devices))
    names.push_back(workers[place].name);
  return names;
}

std::string UpcomingText(const Assessment& assessment, const v1::Lease& lease,
                         const v1::LeasesResponse& leases) {
  const std::vector<std::string> first = FirstOf(assessment, assessment.candidates);
  const int64_t seconds = std::max<int64_t>(0, lease.start() - leases.now()) / kMicrosPerSecond;
  return "waits for " + job::LeaseText(lease.name(), lease.owner()) + ", which begins " +
         LocalAndUtc(lease.start()) + " (in " + base::FormatDuration(seconds) + "); then " +
         Join(first, ", ") + KindsText(assessment);
}

std::string NowText(const Assessment& assessment, const v1::LeasesResponse& leases,
                    bool is_leased) {
  const int64_t wanted = assessment.job.devices;
  std::vector<SiteWorker> free;
  Others others(assessment, leases);
  for (const SiteWorker& worker : assessment.candidates) {
    const bool is_taken = !is_leased && others.Take(worker);
    if (!is_taken && IsFree(worker, is_leased)) free.push_back(worker);
  }
  const std::string kinds = KindsText(assessment);
  const std::vector<std::string> first = FirstOf(assessment, free);
  if (!first.empty()) return Join(first, ", ") + kinds + ", free now";
  const auto count = static_cast<int64_t>(free.size());
  const std::string lack = count < wanted
                               ? std::to_string(count) + " of the " + Plural(wanted, "device") +
                                     " it needs are free now, "
                               : "of " + Plural(count, "device") + " that are free now no " +
                                     std::to_string(wanted) + " are linked as it asks, ";
  return "waits: " + lack + Plural(static_cast<int64_t>(assessment.candidates.size()), "device") +
         " would do" + kinds + others.Text();
}

}  // namespace

const v1::Lease* OwnLease(const job::JobSpec& job, const v1::LeasesResponse& leases) {
  const auto own = std::ranges::find_if(
      leases.leases(), [&](const v1::Lease& lease) { return job.resources.lease == lease.name(); });
  return own == leases.leases().end() ? nullptr : &*own;
}

std::string PlaceText(const Assessment& assessment, const v1::LeasesResponse& leases) {
  const v1::Lease* own = OwnLease(assessment.job, leases);
  const bool is_upcoming = own != nullptr && StateOf(*own) == job::LeaseState::kUpcoming;
  const std::string text = is_upcoming ? UpcomingText(assessment, *own, leases)
                                       : NowText(assessment, leases, own != nullptr);
  return assessment.barred.empty() ? text : text + "; not on " + assessment.barred;
}

}  // namespace trainctl::client
