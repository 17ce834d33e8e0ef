#include "server/core/reach.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "common/job/constraint.h"
#include "server/core/linked_gangs.h"

namespace trainctl::core {
namespace {

using placement::ClassId;
using placement::DeviceId;
using placement::FreeDevices;

std::vector<job::Constraint> WorkerConstraints(const job::JobSpec& spec) {
  std::vector<job::Constraint> constraints;
  for (const auto& [key, text] : spec.resources.constraints) {
    if (!job::IsOfWorker(key)) continue;
    if (auto constraint = job::ParseConstraint(key, text))
      constraints.push_back(std::move(*constraint));
  }
  return constraints;
}

// What rules say of a job, by their order in State::rules. Empty: nothing against it.
enum class Verdict : char { kAdmits = 'a', kByName = 'n', kNever = 'x' };
using Verdicts = std::string;

Verdict VerdictOf(const job::HostRules& rules, const std::string& user, const job::JobSpec& spec) {
  const base::Status fits = job::CheckByName(rules, user, spec);
  if (fits) return Verdict::kAdmits;
  return fits.error().code == base::Code::kDenied ? Verdict::kByName : Verdict::kNever;
}

Verdicts VerdictsOf(const State& state, const std::string& user, const job::JobSpec& spec) {
  Verdicts verdicts;
  for (const auto& [rules, workers] : state.rules)
    verdicts += static_cast<char>(VerdictOf(rules, user, spec));
  const bool is_kept_away =
      verdicts.find_first_not_of(static_cast<char>(Verdict::kAdmits)) != Verdicts::npos;
  return is_kept_away ? verdicts : Verdicts();
}

Verdict VerdictAt(const State& state, const Verdicts& verdicts, const Worker& worker) {
  const auto rules = verdicts.empty() ? state.rules.end() : state.rules.find(worker.rules);
  if (rules == state.rules.end()) return Verdict::kAdmits;
  return static_cast<Verdict>(verdicts[std::distance(state.rules.begin(), rules)]);
}

// The workers that the job reaches, and those whose rules alone keep it away.
struct Reached {
  std::vector<const Worker*> workers, barred;
};

Reached FindWorkers(const State& state, const job::JobSpec& spec, const Verdicts& verdicts,
                    const std::set<std::string>& avoids) {
  std::map<Verdict, std::vector<const Worker*>> found;
  const std::vector<job::Constraint> constraints = WorkerConstraints(spec);
  for (const Worker* worker : state.devices) {
    if (worker == nullptr || avoids.contains(worker->row.name)) continue;
    const bool meets = std::ranges::all_of(constraints, [&](const job::Constraint& asked) {
      return job::MeetsOfWorker(asked, worker->row.host, worker->row.device.labels);
    });
    if (meets) found[VerdictAt(state, verdicts, *worker)].push_back(worker);
  }
  Reached reached{std::move(found[Verdict::kAdmits]), std::move(found[Verdict::kNever])};
  std::vector<const Worker*>& unknown = found[Verdict::kByName];
  auto& side = reached.workers.empty() ? reached.workers : reached.barred;
  side.insert(side.end(), unknown.begin(), unknown.end());
  return reached;
}

Reach FindReach(const State& state, const Job& job, const Verdicts& verdicts) {
  Reach reach;
  reach.version = state.free.version();
  Reached reached = FindWorkers(state, job.row.spec, verdicts, job.avoids);
  if (LinksOf(job)) {
    ReachLinked(state, job, reached.workers, &reach);
  } else {
    for (const Worker* worker : reached.workers) CountDevice(state.free, worker->device, &reach);
  }
  reach.barred = std::move(reached.barred);
  return reach;
}

// Of what the job says of workers and links; two jobs that say something else have two keys.
std::string KeyOf(const Job& job) {
  std::string key;
  const auto add = [&key](const std::string& part) {
    key += std::to_string(part.size()) + ":" + part;
  };
  for (const auto& [name, text] : job.row.spec.resources.constraints) {
    if (!job::IsOfWorker(name)) continue;
    add(name);
    add(text);
  }
  if (LinksOf(job)) {
    add(LinksText(job));
    add(std::to_string(job.row.spec.devices));
  }
  key += "!";
  std::ranges::for_each(job.avoids, add);
  return key + "|";
}

std::shared_ptr<const Reach> SharedReach(const State& state, const Job& job) {
  const Verdicts verdicts = RulesOn(state, job);
  if (!*job.names_workers && verdicts.empty() && job.avoids.empty()) return nullptr;
  constexpr size_t kMost = 1000;
  const bool is_old =
      !state.reaches.empty() && state.reaches.begin()->second->version != state.free.version();
  if (is_old || state.reaches.size() >= kMost) state.reaches.clear();
  std::shared_ptr<const Reach>& reach = state.reaches[KeyOf(job) + verdicts];
  if (!reach) reach = std::make_shared<const Reach>(FindReach(state, job, verdicts));
  return reach;
}

}  // namespace

void CountDevice(const FreeDevices& devices, DeviceId id, Reach* reach) {
  const FreeDevices::Entry& entry = devices.entry(id);
  const FreeDevices::Pool& pool = devices.pools()[entry.device_class];
  Reach::Part& part = reach->parts[entry.device_class];
  part.devices.Insert(id);
  ++part.count.total;
  part.count.drained += entry.drained;
  if (pool.unleased != entry.device_class) ++reach->parts[pool.unleased].count.leased;
}

const Reach::Part* PartOf(const Reach& reach, ClassId id) {
  const auto part = reach.parts.find(id);
  return part == reach.parts.end() ? nullptr : &part->second;
}

const Reach* ReachOf(const State& state, const Job& job) {
  if (!job.names_workers) LinksOf(job);
  if (!*job.names_workers && state.rules.empty() && job.avoids.empty()) return nullptr;
  if (std::exchange(job.reach_version, state.free.version()) != state.free.version())
    job.reach = SharedReach(state, job);
  return job.reach.get();
}

std::string RulesOn(const State& state, const Job& job) {
  return VerdictsOf(state, job.row.user, job.row.spec);
}

void RequeueByRules(State& state) {
  for (auto& [id, job] : state.jobs) {
    if (job.lane != Lane::kQueue) continue;
    std::string rules = RulesOn(state, job);
    if (rules == job.demand.rules) continue;
    state.queue.Remove(job.demand, job.place(), job.longest_run);
    job.demand.rules = std::move(rules);
    job.least_held = {};
    state.queue.Add(job.demand, job.place(), job.longest_run, &job);
  }
}

std::string WhyBarred(const State& state, const Job& job) {
  const Reach* reach = ReachOf(state, job);
  if (reach == nullptr) return "";
  std::map<std::string, std::string> why;
  for (const Worker* worker : reach->barred) {
    const base::Status fits = job::CheckByName(worker->rules, job.row.user, job.row.spec);
    if (!fits) why.emplace(worker->row.host, fits.error().message);
  }
  if (why.empty()) return "";
  const auto& [host, first] = *why.begin();
  const std::string others =
      why.size() == 1 ? "" : "; nor on " + std::to_string(why.size() - 1) + " other hosts";
  return host + ": " + first + others;
}

std::vector<job::SiteDevice> SiteOf(const State& state, const std::string& user,
                                    const job::JobSpec& spec) {
  const Reached reached = FindWorkers(state, spec, VerdictsOf(state, user, spec), {});
  const std::set<const Worker*> barred(reached.barred.begin(), reached.barred.end());
  std::vector<job::SiteDevice> devices;
  for (const auto& [name, worker] : state.workers) {
    if (!barred.contains(&worker)) devices.push_back(SiteDeviceOf(worker.row));
  }
  return devices;
}

bool Reaches(const State& state, const Job& job, DeviceId device) {
  const Reach* reach = ReachOf(state, job);
  if (reach == nullptr) return true;
  const Reach::Part* part = PartOf(*reach, state.free.entry(device).device_class);
  return part != nullptr && part->devices.Contains(device);
}

ReachCount CountOf(const State& state, const Job& job, ClassId id) {
  const Reach* reach = ReachOf(state, job);
  if (reach == nullptr) {
    const FreeDevices::Pool& pool = state.free.pools()[id];
    return {pool.total, pool.drained, pool.leased};
  }
  const Reach::Part* part = PartOf(*reach, id);
  return part == nullptr ? ReachCount() : part->count;
}

int64_t FreeOf(const State& state, const Job& job, ClassId id) {
  const Reach* reach = ReachOf(state, job);
  if (reach == nullptr) return state.free.pools()[id].free;
  const Reach::Part* part = PartOf(*reach, id);
  return part == nullptr ? 0 : part->devices.CountIn(state.free.free());
}

}  // namespace trainctl::core
