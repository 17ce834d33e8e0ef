#include "client/submit/inspection.h"

#include "client/show/decoded.h"
#include "common/job/job_json.h"
#include "common/job/trains.h"
#include "common/wire/earlier_runs.h"
#include "common/wire/host_rules.h"

namespace trainctl::client {
namespace {

// A device of a kind that this version does not know is none that a job could get.
std::optional<SiteWorker> FromMessage(const v1::WorkerView& worker) {
  const v1::Device& device = worker.device();
  const std::optional<job::DeviceKind> kind = job::ParseDeviceKind(device.kind());
  if (!kind) return std::nullopt;
  const base::Result<job::HostRules> rules = wire::FromWire(worker.rules());
  return SiteWorker{worker.name(),
                    StateOf(worker),
                    {*kind,
                     worker.host(),
                     device.name(),
                     device.memory_bytes(),
                     device.compute_capability(),
                     device.threads(),
                     {device.labels().begin(), device.labels().end()},
                     device.host_memory_bytes()},
                    rules.ok() ? *rules : job::HostRules(),
                    worker.bars()};
}

// The job with all that an inspection does not depend on left at its defaults.
std::string InspectionKey(const job::JobSpec& job) {
  job::JobSpec key;
  key.model = job.model;
  key.data = job.data;
  key.train.max_seq_length = job.train.max_seq_length;
  key.eval.prompts = job.eval.prompts;
  key.eval.images = job.eval.images;
  // A folder of peft is compared with these.
  if (job.lora) key.lora = {.r = job.lora->r, .alpha = job.lora->alpha};
  if (job::WritesOutput(job)) key.output = job.output;
  key.checkpoint.resume_from = job.checkpoint.resume_from;
  if (!job::Trains(job)) key.train.max_steps = 0;  // no data are read
  return job::ToJson(key);
}

}  // namespace

Site AskSite(Context& context) {
  if (context.api == nullptr) {
    Warn(context,
         "no coordinator is known (--server, TRAINCTL_SERVER): nothing is known of the site");
    return {};
  }
  const base::Result<v1::WorkersResponse> response = context.api->Workers();
  if (!response.ok()) {
    Warn(context, response.error().message);
    return {};
  }
  Site site{.known = true, .id = response->site()};
  for (const v1::WorkerView& worker : response->workers()) {
    if (auto known = FromMessage(worker)) site.workers.push_back(*std::move(known));
  }
  if (site.workers.empty())
    Warn(context, "no worker has registered with this coordinator yet: jobs will wait for one");
  return site;
}

base::Result<job::Inspection> Inspector::Inspect(const job::JobSpec& job) {
  const std::string key = InspectionKey(job);
  const auto known = answers_.find(key);
  if (known != answers_.end()) return known->second;
  return answers_.emplace(key, coordinator_answers_ ? AskWorker(job) : AskLocally(job))
      .first->second;
}

std::vector<job::DevicePower> PredictTimes(Context& context, std::vector<Assessment>* assessments) {
  v1::EarlierRunsRequest request;
  std::vector<Assessment*> inspected;
  for (Assessment& assessment : *assessments) {
    if (!assessment.inspection) continue;
    inspected.push_back(&assessment);
    request.add_jobs()->set_job_json(job::ToJson(assessment.job));
    request.mutable_jobs()->rbegin()->set_inspection_json(job::ToJson(*assessment.inspection));
  }
  if (inspected.empty()) return {};
  // A coordinator that can't say has no earlier runs to tell of.
  const base::Result<v1::EarlierRunsResponse> response =
      context.api != nullptr ? context.api->EarlierRuns(request)
                             : base::Result<v1::EarlierRunsResponse>(v1::EarlierRunsResponse());
  std::vector<job::DevicePower> powers;
  for (int i = 0; response.ok() && i < response->powers_size(); ++i)
    powers.push_back(wire::FromWire(response->powers(i)));
  for (size_t i = 0; i < inspected.size(); ++i) {
    const bool is_told = response.ok() && static_cast<int>(i) < response->jobs_size();
    PredictTime(is_told ? wire::FromWire(response->jobs(static_cast<int>(i))) : job::EarlierTimes(),
                inspected[i]);
    if (inspected[i]->time) job::CountPower(powers, &*inspected[i]->time);
  }
  return powers;
}

base::Result<job::Inspection> Inspector::AskWorker(const job::JobSpec& job) {
  v1::InspectRequest request;
  request.set_job_json(job::ToJson(job));
  const base::Result<v1::InspectResponse> response = context_.api->Inspect(request);
  if (!response.ok()) return response.error();
  return job::InspectionFromJson(response->inspection_json());
}

base::Result<job::Inspection> Inspector::AskLocally(const job::JobSpec& job) {
  const Surroundings& surroundings = context_.surroundings;
  const base::Result<ProgramOutput> output = surroundings.run(
      {surroundings.program_directory + "/trainworker", "--inspect"}, job::ToJson(job));
  if (!output.ok())
    return base::Error{base::Code::kUnavailable,
                       "no coordinator answers, and there is no trainworker beside this binary"};
  if (output->exit_code != 0) {
    return base::Error{base::Code::kInvalid, "trainworker --inspect ended with exit code " +
                                                 std::to_string(output->exit_code)};
  }
  return job::InspectionFromJson(output->out);
}

}  // namespace trainctl::client
