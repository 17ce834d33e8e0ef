#include "client/submit/within.h"

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "client/show/calendar_time.h"
#include "client/show/decoded.h"
#include "client/show/format.h"
#include "client/submit/lab_time.h"
#include "common/base/did_you_mean.h"
#include "common/base/duration_hint.h"
#include "common/base/size.h"
#include "common/job/lease_room.h"

namespace trainctl::client {
namespace {

// "": they name none, or several.
std::string LeaseOfAll(const std::vector<job::JobSpec>& jobs) {
  const std::optional<std::string>& first = jobs.front().resources.lease;
  const bool is_one = std::ranges::all_of(
      jobs, [&](const job::JobSpec& job) { return job.resources.lease == first; });
  return is_one ? first.value_or("") : "";
}

// Of what was meant as a time, and is none.
base::Error NoSuchLease(const std::string& name) {
  const bool is_meant_as_time = name.find_first_of("0123456789") == 0;
  const std::string times = "expected a lease, or a time such as 90s, 10min or 2h; ";
  return {is_meant_as_time ? base::Code::kInvalid : base::Code::kNotFound,
          base::WithHint("no lease '" + name + "', or it is over", base::DurationHint(name),
                         (is_meant_as_time ? times : "") + "trainctl lease ls lists them")};
}

base::Result<v1::LeasesResponse> AskForLeases(Context& context) {
  const base::Result<Api*> api = NeedApi(context);
  if (!api.ok()) return api.error();
  return (*api)->Leases();
}

// What is left of it for jobs, from its start or from now.
int64_t SecondsLeft(const v1::Lease& lease, const v1::LeasesResponse& leases) {
  const int64_t rest = lease.end() - leases.grace_us() - std::max(leases.now(), lease.start());
  return std::max<int64_t>(0, rest / 1'000'000);
}

base::Result<Stretch> StretchOf(const std::string& name, const v1::LeasesResponse& leases) {
  const auto lease = std::ranges::find(leases.leases(), name, &v1::Lease::name);
  if (lease == leases.leases().end()) return NoSuchLease(name);
  return Stretch{SecondsLeft(*lease, leases), *lease};
}

bool IsLeased(const v1::Lease& lease, const SiteWorker& worker) {
  return std::ranges::count(lease.workers(), worker.name) > 0;
}

// Of a site that is not known the hosts are taken for whole.
job::LeaseRoom RoomOf(const v1::Lease& lease, const Site& site) {
  std::vector<job::LeasedOrNot> devices;
  for (const SiteWorker& worker : site.workers)
    devices.push_back({worker.device.host, IsLeased(lease, worker)});
  return {.lease = job::LeaseText(lease.name(), lease.owner()),
          .is_ending = StateOf(lease) == job::LeaseState::kEnding,
          .end = LocalAndUtc(lease.end()),
          .devices = lease.workers_size(),
          .whole_host_devices =
              devices.empty() ? lease.workers_size() : job::DevicesOfWholeHosts(devices)};
}

}  // namespace

base::Result<std::optional<v1::Lease>> FindWithin(Context& context, std::vector<job::JobSpec>* jobs,
                                                  SubmitOptions* options) {
  std::string name = options->within;
  if (name.empty()) name = LeaseOfAll(*jobs);
  if (name.empty()) return std::optional<v1::Lease>();
  if (const std::optional<int64_t> seconds = base::ParseDuration(name)) {
    if (!options->dry_run) {
      return base::Error{base::Code::kInvalid,
                         "--within " + name + " is a time: add --dry-run, or name a lease"};
    }
    options->within_seconds = seconds;
    return std::optional<v1::Lease>();
  }
  for (job::JobSpec& job : *jobs) job.resources.lease = name;
  const base::Result<v1::LeasesResponse> leases = AskForLeases(context);
  if (!leases.ok()) return leases.error();
  const base::Result<Stretch> stretch = StretchOf(name, *leases);
  if (!stretch.ok()) return stretch.error();
  options->within_seconds = stretch->seconds;
  return stretch->lease;
}

base::Result<std::optional<Stretch>> FindStretch(Context& context, const std::string& within,
                                                 const std::string& user) {
  if (const std::optional<int64_t> seconds = base::ParseDuration(within))
    return std::optional(Stretch{*seconds, std::nullopt});
  const base::Result<v1::LeasesResponse> leases = AskForLeases(context);
  if (!within.empty()) {
    if (!leases.ok()) return leases.error();
    const base::Result<Stretch> named = StretchOf(within, *leases);
    if (!named.ok()) return named.error();
    return std::optional(*named);
  }
  if (!leases.ok()) return std::optional<Stretch>();
  const v1::Lease* own = nullptr;
  for (const v1::Lease& lease : leases->leases()) {  // by their starts
    const bool is_over = StateOf(lease) == job::LeaseState::kEnding;
    if (own == nullptr && !is_over && lease.owner() == user) own = &lease;
  }
  if (own == nullptr) return std::optional<Stretch>();
  return std::optional(Stretch{SecondsLeft(*own, *leases), *own});
}

Site OnlyLeased(const v1::Lease& lease, const Site& site) {
  Site leased = site;
  std::erase_if(leased.workers, [&](const SiteWorker& worker) { return !IsLeased(lease, worker); });
  return leased;
}

void CheckLease(const v1::Lease& lease, const Site& site, Assessment* assessment) {
  for (job::Problem& problem : assessment->site_problems) {
    if (problem.expected.find("this site") == std::string::npos) continue;
    problem.hint += (problem.hint.empty() ? "" : "; ") + std::string("of it only ") +
                    job::LeaseText(lease.name(), lease.owner()) +
                    " counts: " + Join(lease.workers(), ", ");
  }
  const std::string problem = job::NoRoom(RoomOf(lease, site), assessment->job);
  if (!problem.empty())
    assessment->site_problems.push_back(
        {"resources.lease", 0, "", "a lease for this job", problem});
}

void SayWhetherItFits(Context& context, const std::vector<Assessment>& assessments,
                      const SubmitOptions& options) {
  const LabTime lab = PredictLab(assessments, options.max_parallel);
  if (lab.experiments == 0) {
    context.err << "note: whether it fits what is left of the lease ("
                << base::FormatDuration(*options.within_seconds)
                << ") is not known: its time could not be predicted" << std::endl;
    return;
  }
  context.err << "note: " << LabText(lab, options.within_seconds)
              << (Fits(lab, *options.within_seconds)
                      ? ""
                      : ": what has not ended by then saves where it keeps "
                        "checkpoints, and ends as LEASE_ENDED")
              << std::endl;
}

}  // namespace trainctl::client
