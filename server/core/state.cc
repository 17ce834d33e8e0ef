#include "server/core/state.h"

#include <algorithm>

#include "server/core/leases.h"

namespace trainctl::core {

const Job* FindJob(const State& state, base::JobId job) {
  const auto found = state.jobs.find(job);
  return found == state.jobs.end() ? nullptr : &found->second;
}

bool IsInGap(const State& state, base::JobId job) {
  return std::ranges::any_of(state.gaps, [&](const JobGap& gap) {
    return gap.first <= job.value && job.value <= gap.last;
  });
}

std::vector<std::string> EndedJobs(const State& state, const job::JobSpec& spec,
                                   const std::optional<job::Inspection>& inspection) {
  std::vector<std::string> ended;
  const auto add = [&](const std::string& name) {
    const std::optional<base::JobId> id = base::ParseJobId(name);
    const bool was_given = id && id->value < state.next_job && !IsInGap(state, *id);
    if (was_given && FindJob(state, *id) == nullptr) ended.push_back(name);
  };
  if (spec.checkpoint.resume_job) add(*spec.checkpoint.resume_job);
  if (!inspection || !inspection->output) return ended;
  const std::optional<job::FolderOwner>& owner = inspection->output->owner;
  if (owner && owner->site == state.site) add(owner->job);
  for (const job::OverlappingFolder& other : inspection->output->overlaps)
    if (other.owner.site == state.site) add(other.owner.job);
  return ended;
}

const Job* OwnerOfHost(const State& state, const std::string& host) {
  const auto workers = state.hosts.find(host);
  if (workers == state.hosts.end()) return nullptr;
  for (const Worker* worker : workers->second) {
    if (!worker->holder) continue;
    const Job* job = state.live.at(worker->holder->job);
    if (job->row.spec.exclusive) return job;
  }
  return nullptr;
}

std::optional<base::JobId> HolderOf(const State& state, const Worker& worker) {
  if (worker.holder) return worker.holder->job;
  const Job* owner = OwnerOfHost(state, worker.row.host);
  return owner == nullptr ? std::nullopt : std::optional(owner->row.id);
}

const DrainRow* DrainOf(const State& state, const WorkerRow& worker) {
  for (const std::string& target : {worker.host, worker.name}) {
    const auto found = state.drains.find(target);
    if (found != state.drains.end()) return &found->second;
  }
  return nullptr;
}

bool IsTarget(const State& state, const std::string& name) {
  return state.workers.contains(name) || state.hosts.contains(name);
}

std::vector<base::JobId> JobsOn(const State& state, const std::string& target) {
  std::set<base::JobId> jobs;
  for (const auto& [name, worker] : state.workers) {
    if (name != target && worker.row.host != target) continue;
    if (const auto holder = HolderOf(state, worker)) jobs.insert(*holder);
  }
  return {jobs.begin(), jobs.end()};
}

namespace {

bool IsDirty(const Worker& worker) {
  return worker.word != DeviceWord::kFree || !worker.strays.empty();
}

std::string WhyDirty(const State& state, const Worker& worker) {
  if (worker.holder || !worker.connected || !IsDirty(worker)) return "";
  if (!worker.strays.empty()) {
    const job::RankKey& stray = worker.strays.front();
    const std::string what = IsInGap(state, stray.job)
                                 ? "which this site does not know since it was restored"
                                 : "which has ended";
    return "rank " + std::to_string(stray.rank) + " of " + base::ToString(stray.job) + ", " + what +
           ", is being stopped there";
  }
  if (worker.word == DeviceWord::kUnknown)
    return "its worker has not said yet that it is free again";
  return worker.reason.empty() ? "its worker does not say why" : worker.reason;
}

std::string WhoLeases(const State& state, const Worker& worker) {
  const Lease* lease = NextLeaseOf(state, worker.row.name);
  if (lease == nullptr) return "";
  const std::string until = " until " + UtcText(lease->row.end);
  if (lease->active) return LeaseText(lease->row) + until;
  return LeaseText(lease->row) + " from " + UtcText(lease->row.start) + until;
}

}  // namespace

job::WorkerState StateOf(const State& state, const Worker& worker) {
  using enum job::WorkerState;
  if (!worker.connected && worker.lost) return kLost;
  if (worker.holder) return kBusy;
  if (!worker.connected) return kLost;
  if (const FaultRow* fault = WorstFault(state, worker.row.name)) return StateOf(*fault);
  if (IsDirty(worker)) return kDirty;
  if (OwnerOfHost(state, worker.row.host) != nullptr) return kBusy;
  if (DrainOf(state, worker.row) != nullptr) return kDrained;
  return ActiveLeaseOf(state, worker.row.name) == nullptr ? kReady : kLeased;
}

std::string WorkerReason(const State& state, const Worker& worker) {
  const std::string dirty = WhyDirty(state, worker);
  const DrainRow* drain = DrainOf(state, worker.row);
  const FaultRow* fault = WorstFault(state, worker.row.name);
  std::string text;
  if (fault != nullptr) {
    const job::WorkerState as = StateOf(*fault);
    text = (StateOf(state, worker) == as ? "" : std::string(Name(as)) + ": ") + FaultText(*fault);
  }
  const std::string drained = drain == nullptr ? "" : "drained" + DrainText(*drain);
  const SlowRow* slow = SlownessOf(state, worker.row.name);
  const std::string slowness = slow == nullptr ? "" : SlownessText(*slow);
  const std::string trouble = worker.connected ? worker.trouble : "";
  for (const std::string& other : {drained, dirty, trouble, slowness, WhoLeases(state, worker)}) {
    if (!text.empty() && !other.empty()) text += "; ";
    text += other;
  }
  return text;
}

std::string DrainText(const DrainRow& drain) {
  return (drain.user.empty() ? "" : " by " + drain.user) +
         (drain.reason.empty() ? "" : ": " + drain.reason);
}

job::SiteDevice SiteDeviceOf(const WorkerRow& worker) {
  const job::Device& device = worker.device;
  return {device.kind,
          worker.host,
          device.name,
          device.memory_bytes,
          device.compute_capability,
          device.threads,
          device.labels,
          device.host_memory_bytes,
          device.uuid,
          device.links};
}

std::vector<job::SiteDevice> Site(const State& state) {
  std::vector<job::SiteDevice> devices;
  for (const auto& [name, worker] : state.workers) devices.push_back(SiteDeviceOf(worker.row));
  return devices;
}

bool EndedOk(const JobStatus& status) {
  return status.as_expected.value_or(status.end->outcome == job::Outcome::kSucceeded);
}

JobProgress Progress(const Job& job) {
  if (!job.attempt) return job.status.progress;
  const std::vector<Rank>& ranks = job.attempt->ranks;
  JobProgress progress;
  progress.step = ranks.front().row.progress.step;
  for (const Rank& rank : ranks) {
    progress.step = std::min(progress.step, rank.row.progress.step);
    progress.steps = std::max(progress.steps, rank.row.progress.steps);
    progress.peak_allocated_bytes =
        std::max(progress.peak_allocated_bytes, rank.row.progress.peak_allocated_bytes);
  }
  progress.loss = ranks.front().row.progress.loss;
  return progress;
}

bool IsHeardOf(const State& state, const LiveAttempt& attempt) {
  return std::ranges::all_of(attempt.ranks, [&state](const Rank& rank) {
    return rank.row.proof != Proof::kNone || state.workers.at(rank.row.worker).connected;
  });
}

std::optional<double> RemainingSeconds(const State& state, const Job& job, const Now& now) {
  if (!job.attempt) return std::nullopt;
  const StepPace& pace = job.attempt->pace;
  const std::optional<double> a_step = pace.SecondsPerStep();
  if (!a_step) return std::nullopt;
  const JobProgress progress = Progress(job);
  if (progress.steps <= progress.step) return std::nullopt;
  const double into_next = static_cast<double>(now.steady - pace.heard()) / 1e6;
  const double from_there = *a_step * static_cast<double>(progress.steps - progress.step);
  const double passed_at_most = IsHeardOf(state, *job.attempt) ? *a_step : from_there;
  return from_there - std::clamp(into_next, 0.0, passed_at_most);
}

}  // namespace trainctl::core
