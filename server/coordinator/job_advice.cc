#include "server/coordinator/job_advice.h"

#include <utility>

#include "common/advice/device_choice.h"
#include "common/advice/earlier_times.h"
#include "common/estimate/predict_time.h"
#include "server/coordinator/earlier_runs.h"
#include "server/coordinator/questions.h"
#include "server/core/state.h"

namespace trainctl::coordinator {
namespace {

base::Result<std::vector<job::SiteDevice>> DevicesFor(store::Reader& reader,
                                                      const job::JobSpec& job) {
  const auto workers = reader.Workers();
  if (!workers) return workers.error();
  std::vector<job::SiteDevice> site, devices;
  for (const core::WorkerRow& worker : *workers) site.push_back(core::SiteDeviceOf(worker));
  const auto chosen = advice::ChooseDevices(job, site);
  if (!chosen) return chosen.error();
  for (const size_t place : *chosen) devices.push_back(site[place]);
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

base::Result<JobAdvice> AdviseJob(store::Reader& reader, const std::string& name) {
  const auto found = ReadOneJob(reader, name);
  if (!found) return found.error();
  const core::JobRow& row = found->row;
  if (!row.inspection || !row.spec.train.micro_batch_size) {
    return base::Error{base::Code::kUnavailable,
                       "no worker has looked at the model and data of this job"};
  }
  const auto devices = DevicesFor(reader, row.spec);
  if (!devices) return devices.error();
  JobAdvice advice{.job = row.spec,
                   .device_name = devices->front().name,
                   .devices = static_cast<int64_t>(devices->size())};
  base::Result<advice::Ways> ways =
      advice::FindWays({row.spec, *row.inspection, devices->front(), advice.devices, {}, *devices});
  if (!ways) return ways.error();
  advice.ways = std::move(*ways);
  const auto predict = [&](const std::vector<advice::TimeQuestion>& questions) {
    return PredictTimes(reader, *row.inspection, questions);
  };
  advice::TakeEarlierTimes(*devices, predict, &advice.ways);
  advice.front = advice::ParetoFront(advice.ways.fitting);
  return advice;
}

}  // namespace trainctl::coordinator
