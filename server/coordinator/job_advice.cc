#include "server/coordinator/job_advice.h"

#include <string_view>
#include <utility>

#include "common/advice/device_choice.h"
#include "common/advice/earlier_times.h"
#include "common/estimate/predict_time.h"
#include "server/coordinator/earlier_runs.h"
#include "server/coordinator/questions.h"
#include "server/core/state.h"

namespace trainctl::coordinator {
namespace {

std::string KeptOut(const core::State& state, const core::Worker& worker) {
  using enum job::WorkerState;
  const std::string_view why = advice::WhyKeptOut(core::StateOf(state, worker));
  if (!why.empty()) return std::string(why);
  if (const core::FaultRow* fault = core::WorstFault(state, worker.row.name))
    return std::string(Name(core::StateOf(*fault)));
  return core::DrainOf(state, worker.row) == nullptr ? "" : std::string(Name(kDrained));
}

struct Devices {
  std::vector<job::SiteDevice> equal;
  std::map<std::string, int64_t> left_out;
  std::vector<advice::DeviceModel> others;
};

base::Result<Devices> DevicesFor(const AdvisedSite& site, const core::JobRow& row) {
  const job::JobSpec& job = row.spec;
  const auto lease = site.leases.find(job.resources.lease.value_or(""));
  std::vector<advice::OfferedDevice> offered;
  for (const AdvisedSite::Worker& worker : site.workers) {
    const bool is_offered = lease == site.leases.end() || lease->second.contains(worker.name);
    offered.push_back({worker.device,
                       is_offered ? worker.kept_out : advice::NotOfLease(lease->first),
                       job::CheckByName(worker.rules, row.user, job)});
  }
  auto chosen = advice::ChooseDevices(job, offered);
  if (!chosen) return chosen.error();
  Devices devices{
      .equal = {}, .left_out = std::move(chosen->left_out), .others = std::move(chosen->others)};
  for (const size_t place : chosen->places) devices.equal.push_back(offered[place].device);
  return devices;
}

// A store that can't say has no earlier runs to tell of.
advice::TimesTold PredictTimes(store::Reader& reader, const job::Inspection& inspection,
                               const std::vector<advice::TimeQuestion>& questions) {
  std::vector<RunKeys> keys;
  for (const advice::TimeQuestion& question : questions) {
    keys.push_back(KeysOf(question.job, inspection));
  }
  const auto earlier = FindEarlierRuns(reader, keys);
  advice::TimesTold told;
  for (size_t i = 0; i < questions.size(); ++i) {
    told.times.push_back(job::PredictTime(questions[i].job, inspection, questions[i].device_name,
                                          questions[i].memory.holds_gradients.value_or(false),
                                          earlier ? earlier->jobs[i] : job::EarlierTimes()));
  }
  if (earlier) told.powers = earlier->powers;
  return told;
}

}  // namespace

AdvisedSite AdvisedSiteOf(const core::State& state) {
  AdvisedSite site{.policy = state.options.policy};
  for (const auto& [name, worker] : state.workers)
    site.workers.push_back(
        {worker.row.name, core::SiteDeviceOf(worker.row), KeptOut(state, worker), worker.rules});
  for (const auto& [id, lease] : state.leases)
    site.leases[lease.row.name] = {lease.row.workers.begin(), lease.row.workers.end()};
  return site;
}

base::Result<JobAdvice> AdviseJob(store::Reader& reader, const AdvisedSite& site,
                                  const std::string& name) {
  const auto found = ReadOneJob(reader, name);
  if (!found) return found.error();
  const core::JobRow& row = found->row;
  if (!row.inspection || !row.spec.train.micro_batch_size) {
    return base::Error{base::Code::kUnavailable,
                       "no worker has looked at the model and data of this job"};
  }
  const auto devices = DevicesFor(site, row);
  if (!devices) return devices.error();
  const std::vector<job::SiteDevice>& equal = devices->equal;
  JobAdvice advice{.job = row.spec,
                   .device_name = equal.front().name,
                   .device_kind = equal.front().kind,
                   .devices = std::ssize(equal),
                   .devices_left_out = devices->left_out};
  base::Result<advice::Ways> ways = advice::FindWays({row.spec,
                                                      *row.inspection,
                                                      equal.front(),
                                                      advice.devices,
                                                      {},
                                                      equal,
                                                      row.user,
                                                      site.policy.Of(row.user),
                                                      devices->others});
  if (!ways) return ways.error();
  advice.ways = std::move(*ways);
  const auto predict = [&](const std::vector<advice::TimeQuestion>& questions) {
    return PredictTimes(reader, *row.inspection, questions);
  };
  advice::TakeEarlierTimes(equal, predict, &advice.ways);
  advice.front = advice::ParetoFront(advice.ways.fitting);
  return advice;
}

}  // namespace trainctl::coordinator
