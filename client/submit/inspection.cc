#include "client/submit/inspection.h"

#include "client/show/decoded.h"
#include "common/advice/device_choice.h"
#include "common/estimate/inspection_key.h"
#include "common/job/job_json.h"
#include "common/wire/earlier_runs.h"
#include "common/wire/host_rules.h"
#include "common/wire/user_policy.h"

namespace trainctl::client {
namespace {

job::Links LinksOf(const v1::Device& device) {
  job::Links links;
  for (const auto& [uuid, kind] : device.links())
    links[uuid] = job::ParseLinkKind(kind).value_or(job::LinkKind::kUnknown);
  return links;
}

std::string KeptOut(const v1::WorkerView& worker) {
  const std::optional<job::WorkerState> state = StateOf(worker);
  if (state && !advice::WhyKeptOut(*state).empty()) return std::string(advice::WhyKeptOut(*state));
  for (const v1::FaultView& fault : worker.faults()) {
    if (fault.keeps_out())
      return std::string(
          Name(fault.class_() == "bad" ? job::WorkerState::kBad : job::WorkerState::kSuspect));
  }
  return worker.has_drain() ? std::string(Name(job::WorkerState::kDrained)) : "";
}

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
                     device.host_memory_bytes(),
                     device.uuid(),
                     LinksOf(device)},
                    rules.ok() ? *rules : job::HostRules(),
                    worker.bars(),
                    KeptOut(worker)};
}

}  // namespace

std::optional<SiteBounds> BoundsOf(const v1::WorkersResponse& response) {
  if (!response.has_policy()) return std::nullopt;
  const v1::UserPolicy& policy = response.policy();
  return SiteBounds{policy.user(), wire::FromWire(policy), policy.waiting_jobs()};
}

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
  site.bounds = BoundsOf(*response);
  for (const v1::WorkerView& worker : response->workers()) {
    if (auto known = FromMessage(worker)) site.workers.push_back(*std::move(known));
  }
  if (site.workers.empty())
    Warn(context, "no worker is registered with this coordinator: jobs will wait for one");
  return site;
}

base::Result<job::Inspection> Inspector::Inspect(const job::JobSpec& job) {
  const std::string key = job::InspectionKey(job);
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
  job::EarlierMeasures earlier;
  for (int i = 0; response.ok() && i < response->powers_size(); ++i)
    earlier.powers.push_back(wire::FromWire(response->powers(i)));
  for (size_t i = 0; i < inspected.size(); ++i) {
    const bool is_told = response.ok() && static_cast<int>(i) < response->jobs_size();
    earlier.times =
        is_told ? wire::FromWire(response->jobs(static_cast<int>(i))) : job::EarlierTimes();
    PredictTime(earlier, inspected[i]);
  }
  return earlier.powers;
}

base::Result<job::Inspection> Inspector::AskWorker(const job::JobSpec& job) {
  job::JobSpec asked = job;
  asked.resources.priority = job::PriorityOf(job);  // older workers want a number
  v1::InspectRequest request;
  request.set_job_json(job::ToJson(asked));
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
