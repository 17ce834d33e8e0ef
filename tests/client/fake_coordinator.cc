#include "tests/client/fake_coordinator.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "common/base/ids.h"
#include "tests/client/kept_texts.h"

namespace trainctl::client {
namespace {

constexpr int64_t kUsualPage = 1'000, kLongestPage = 10'000;  // jobs in one answer

base::Error NotFound(const std::string& name) {
  return {base::Code::kNotFound, "no job or group '" + name + "'"};
}

v1::SubmittedJob Submitted(const v1::JobView& view) {
  v1::SubmittedJob job;
  job.set_id(view.id());
  job.set_name(view.name());
  return job;
}

// The name stands in the canonical JSON as "name": "…"; the real coordinator reads the whole of it.
std::string NameIn(const std::string& job_json) {
  const size_t key = job_json.find("\"name\"");
  const size_t begin = job_json.find('"', job_json.find(':', key)) + 1;
  return job_json.substr(begin, job_json.find('"', begin) - begin);
}

int64_t NumberOf(const v1::JobView& job) {
  const auto id = base::ParseJobId(job.id());
  return id ? id->value : 0;
}

// As the coordinator tells of them.
std::vector<const v1::JobView*> NewestFirst(const std::vector<v1::JobView>& jobs) {
  std::vector<const v1::JobView*> sorted;
  for (const v1::JobView& job : jobs) sorted.push_back(&job);
  std::ranges::stable_sort(sorted, std::greater(), [](const auto* job) { return NumberOf(*job); });
  return sorted;
}

bool HasTag(const v1::JobView& job, const std::string& wanted) {
  return std::ranges::any_of(job.tags(), [&](const std::string& tag) {
    return tag == wanted || tag.starts_with(wanted + "=");
  });
}

bool Passes(const v1::JobView& job, const v1::ListRequest& request) {
  const bool any_state = request.states().empty() && request.outcomes().empty();
  const bool is_in = std::ranges::count(request.states(), job.state()) > 0 ||
                     std::ranges::count(request.outcomes(), job.outcome()) > 0;
  const bool is_of =
      request.users().empty() || std::ranges::count(request.users(), job.owner()) > 0;
  const bool has_tags =
      std::ranges::all_of(request.tags(), [&](const std::string& tag) { return HasTag(job, tag); });
  const auto before = base::ParseJobId(request.before());
  return (any_state || is_in) && is_of && has_tags && (!before || NumberOf(job) < before->value) &&
         !(request.unfinished_only() && job.state() == "FINISHED") &&
         (request.ended_before() == 0 ||
          (job.state() == "FINISHED" && job.ended_at() < request.ended_before()));
}

bool IsCalled(const v1::JobView& job, const v1::ListRequest& request) {
  return request.names().empty() || std::ranges::count(request.names(), job.name()) > 0 ||
         std::ranges::count(request.names(), job.group_name()) > 0;
}

// As if the job could use every device.
void TellDrains(const std::vector<v1::WorkerView>& workers, v1::JobDetail* detail) {
  for (const v1::WorkerView& worker : workers) {
    if (worker.state() != "DRAINED") continue;
    v1::Hindrance& hindrance = *detail->mutable_wait()->add_hindrances();
    hindrance.set_worker(worker.name());
    hindrance.set_state(worker.state());
    hindrance.set_drain(worker.drain().target());
  }
}

}  // namespace

std::vector<const v1::JobView*> FakeCoordinator::Find(const std::string& name) const {
  std::vector<const v1::JobView*> found;
  for (const v1::JobView& job : jobs) {
    if (name == job.id() || name == job.group() || name == job.group_name()) found.push_back(&job);
  }
  if (!found.empty()) return found;
  const v1::JobView* newest = nullptr;
  for (const v1::JobView& job : jobs) {
    if (job.name() == name && (newest == nullptr || NumberOf(*newest) < NumberOf(job)))
      newest = &job;
  }
  if (newest != nullptr) found.push_back(newest);
  return found;
}

base::Result<v1::SubmitResponse> FakeApi::Submit(const v1::SubmitRequest& request) {
  if (fake_->unreachable) return Unreachable();
  v1::SubmitResponse response;
  const bool is_group = !request.group_name().empty();
  if (is_group) response.set_group("g1");
  fake_->submissions.push_back(request);
  const auto [accepted, is_new] = fake_->accepted.try_emplace(request.request_id());
  for (const v1::JobSubmission& submission : request.jobs()) {
    if (!is_new) break;
    v1::JobView& job = fake_->jobs.emplace_back();
    job.set_id("j" + std::to_string(fake_->jobs.size()));
    job.set_name(NameIn(submission.job_json()));
    job.set_state("QUEUED");
    if (is_group) job.set_group("g1");
    job.set_group_name(request.group_name());
    accepted->second.push_back(Submitted(job));
  }
  for (const v1::SubmittedJob& job : accepted->second) *response.add_jobs() = job;
  if (fake_->lost_answers-- > 0) return Unreachable();
  return response;
}

base::Result<v1::ListResponse> FakeApi::List(const v1::ListRequest& request) {
  if (fake_->unreachable) return Unreachable();
  v1::ListResponse response;
  const int64_t most = request.limit() == 0 ? kUsualPage : std::min(request.limit(), kLongestPage);
  for (const v1::JobView* job : NewestFirst(fake_->jobs)) {
    bool wanted = request.jobs().empty();
    for (const std::string& name : request.jobs()) {
      for (const v1::JobView* found : fake_->Find(name)) wanted = wanted || found == job;
    }
    if (!wanted || !IsCalled(*job, request) || !Passes(*job, request)) continue;
    response.set_more(response.jobs_size() == most);
    if (response.more()) break;
    *response.add_jobs() = *job;
  }
  for (const v1::WorkerView& worker : fake_->workers) {
    *response.add_workers() = worker;
    if (!request.load_history()) response.mutable_workers()->rbegin()->clear_load_history();
  }
  return response;
}

base::Result<v1::GetResponse> FakeApi::Get(const v1::GetRequest& request) {
  if (fake_->unreachable) return Unreachable();
  const std::vector<const v1::JobView*> found = fake_->Find(request.job());
  if (found.empty()) return NotFound(request.job());
  v1::GetResponse response;
  for (const v1::JobView* job : found) {
    v1::JobDetail& detail = *response.add_jobs();
    if (const auto known = fake_->details.find(job->id()); known != fake_->details.end()) {
      detail = known->second;
    } else if (job->state() == "QUEUED") {
      TellDrains(fake_->workers, &detail);
    }
    *detail.mutable_view() = *job;
    KeepTextsAskedFor(request, &detail);
    if (request.job() != job->group() && request.job() != job->group_name()) continue;
    response.set_group(job->group());
    response.set_group_name(job->group_name());
  }
  return response;
}

base::Result<v1::RemoveResponse> FakeApi::Remove(const v1::RemoveRequest& request) {
  if (fake_->unreachable) return Unreachable();
  fake_->removals.push_back(request);
  v1::RemoveResponse response;
  for (const std::string& id : request.jobs()) {
    const std::vector<const v1::JobView*> found = fake_->Find(id);
    if (found.empty()) return NotFound(id);
    if (found.front()->state() != "FINISHED")
      return base::Error{base::Code::kConflict, id + " has not ended, and nothing was removed"};
    *response.add_jobs() = Submitted(*found.front());
  }
  for (const v1::SubmittedJob& job : response.jobs())
    std::erase_if(fake_->jobs, [&](const v1::JobView& view) { return view.id() == job.id(); });
  return response;
}

base::Result<v1::RemoveOutputsResponse> FakeApi::RemoveOutputs(
    const v1::RemoveOutputsRequest& request) {
  if (fake_->unreachable) return Unreachable();
  fake_->output_removals.push_back(request);
  const std::vector<const v1::JobView*> found = fake_->Find(request.job());
  if (found.empty()) return NotFound(request.job());
  if (found.front()->state() != "FINISHED")
    return base::Error{base::Code::kConflict, request.job() + " has not ended"};
  if (const auto kept = fake_->kept_outputs.find(request.job()); kept != fake_->kept_outputs.end())
    return kept->second;
  v1::RemoveOutputsResponse response;
  *response.mutable_job() = Submitted(*found.front());
  response.set_output_dir(found.front()->output_dir());
  for (const v1::HostOutputs& host : fake_->outputs[request.job()]) *response.add_hosts() = host;
  if (request.look_only()) return response;
  std::erase_if(fake_->jobs, [&](const v1::JobView& view) { return view.id() == request.job(); });
  return response;
}

base::Result<v1::CancelResponse> FakeApi::Cancel(const v1::CancelRequest& request) {
  if (fake_->unreachable) return Unreachable();
  v1::CancelResponse response;
  for (const std::string& name : request.jobs()) {
    const std::vector<const v1::JobView*> found = fake_->Find(name);
    if (found.empty()) return NotFound(name);
    for (const v1::JobView* job : found) {
      fake_->cancelled.push_back(job->id());
      *response.add_jobs() = Submitted(*job);
    }
  }
  return response;
}

base::Result<v1::RemoveWorkerResponse> FakeApi::RemoveWorker(
    const v1::RemoveWorkerRequest& request) {
  if (fake_->unreachable) return Unreachable();
  const auto removed = std::erase_if(
      fake_->workers, [&](const auto& worker) { return worker.name() == request.worker(); });
  if (removed == 0)
    return base::Error{base::Code::kNotFound, "no worker '" + request.worker() + "'"};
  v1::RemoveWorkerResponse response;
  *response.mutable_leases() = fake_->LeasesOn(request.worker());
  return response;
}

base::Result<v1::FenceResponse> FakeApi::Fence(const v1::FenceRequest& request) {
  if (fake_->unreachable) return Unreachable();
  for (const v1::WorkerView& worker : fake_->workers) {
    if (worker.name() != request.worker()) continue;
    if (worker.state() != "LOST")
      return base::Error{base::Code::kConflict,
                         "worker '" + worker.name() + "' is " + worker.state()};
    fake_->fenced.push_back(worker.name());
    return v1::FenceResponse();
  }
  return base::Error{base::Code::kNotFound, "no worker '" + request.worker() + "'"};
}

base::Result<v1::AuditResponse> FakeApi::Audit(const v1::AuditRequest& request) {
  if (fake_->unreachable) return Unreachable();
  fake_->audit_request = request;
  return fake_->audit;
}

base::Result<v1::CompareResponse> FakeApi::Compare(const v1::CompareRequest& request) {
  if (fake_->unreachable) return Unreachable();
  fake_->compare_request = request;
  for (const std::string& name : request.jobs()) {
    if (fake_->Find(name).empty()) return NotFound(name);
  }
  return fake_->comparison;
}

base::Result<v1::InspectResponse> FakeApi::Inspect(const v1::InspectRequest&) {
  if (fake_->unreachable) return Unreachable();
  ++fake_->inspections_asked;
  return fake_->inspection;
}

base::Result<v1::EarlierRunsResponse> FakeApi::EarlierRuns(const v1::EarlierRunsRequest& request) {
  if (fake_->unreachable) return Unreachable();
  if (fake_->answer_earlier_runs) return fake_->answer_earlier_runs(request);
  return fake_->earlier_runs;
}

base::Result<v1::ReadArtifactResponse> FakeApi::ReadArtifact(
    const v1::ReadArtifactRequest& request) {
  if (fake_->unreachable) return Unreachable();
  const auto artifact = fake_->artifacts.find(request.path());
  if (artifact == fake_->artifacts.end()) return fake_->artifact_error;
  v1::ReadArtifactResponse response;
  if (!request.file().empty()) {
    const std::string& content = artifact->second.at(request.file());
    response.set_data(
        content.substr(static_cast<size_t>(request.offset()), fake_->artifact_piece_bytes));
    return response;
  }
  for (const auto& [path, content] : artifact->second) {
    v1::ArtifactFile& file = *response.add_files();
    file.set_path(path);
    file.set_bytes(static_cast<int64_t>(content.size()));
  }
  return response;
}

base::Result<v1::WorkersResponse> FakeApi::Workers() {
  if (fake_->unreachable) return Unreachable();
  if (fake_->workers_error) return *fake_->workers_error;
  v1::WorkersResponse response;
  response.set_version("0.1.0");
  response.set_site(fake_->site);
  response.set_dashboard(fake_->dashboard);
  response.set_dashboard_tls(fake_->dashboard_tls);
  if (fake_->policy) *response.mutable_policy() = *fake_->policy;
  for (const v1::WorkerView& worker : fake_->workers) *response.add_workers() = worker;
  return response;
}

base::Status FakeApi::Logs(const v1::LogsRequest& request,
                           const std::function<bool(const v1::LogChunk&)>& on_message) {
  if (fake_->unreachable) return Unreachable();
  fake_->logs_requests.push_back(request);
  const auto of_attempt = fake_->attempt_logs.find(request.attempt());
  FakeCoordinator::Telling telling{
      of_attempt == fake_->attempt_logs.end() ? fake_->log : of_attempt->second, fake_->logs_break};
  if (!fake_->tellings.empty()) {
    telling = fake_->tellings.front();
    fake_->tellings.pop_front();
  }
  for (const v1::LogChunk& chunk : telling.told) {
    if (!on_message(chunk)) break;
  }
  if (telling.breaks) return Unreachable();
  return base::Ok{};
}

base::Status FakeApi::Metrics(const v1::MetricsRequest& request,
                              const std::function<bool(const v1::MetricsResponse&)>& on_message) {
  if (fake_->unreachable) return Unreachable();
  fake_->metrics_request = request;
  if (fake_->Find(request.job()).empty()) return NotFound(request.job());
  v1::MetricsResponse response;
  const auto of_job = fake_->job_points.find(fake_->Find(request.job()).front()->id());
  for (const v1::MetricPoint& point :
       of_job == fake_->job_points.end() ? fake_->points : of_job->second) {
    const bool wanted =
        request.names().empty() || std::ranges::count(request.names(), point.name()) > 0;
    const bool of_rank =
        !request.has_rank() || (point.has_rank() && point.rank() == request.rank());
    if (wanted && of_rank) *response.add_points() = point;
  }
  on_message(response);
  return base::Ok{};
}

base::Status FakeApi::Watch(const v1::WatchRequest& request, double,
                            const std::function<bool(const v1::JobView&)>& on_message) {
  if (fake_->unreachable) return Unreachable();
  fake_->watch_requests.push_back(request);
  FakeCoordinator::Watching watching;
  if (fake_->watchings.empty()) {
    for (const std::string& name : request.jobs()) {
      const std::vector<const v1::JobView*> found = fake_->Find(name);
      if (found.empty()) return NotFound(name);
      for (const v1::JobView* job : found) watching.told.push_back(*job);
    }
  } else {
    watching = fake_->watchings.front();
    fake_->watchings.pop_front();
  }
  for (const v1::JobView& view : watching.told) {
    if (!on_message(view)) return base::Ok{};
  }
  if (watching.breaks) return Unreachable();
  return base::Ok{};
}

v1::JobView RunningJob(const std::string& id, const std::string& name) {
  v1::JobView job;
  job.set_id(id);
  job.set_name(name);
  job.set_state("RUNNING");
  job.set_step(31);
  job.set_steps(62);
  job.set_attempt(1);
  job.set_devices(2);
  job.add_placement("alpha/0");
  job.add_placement("alpha/1");
  job.set_submitted_at(940'000'000);
  job.set_started_at(950'000'000);
  job.set_loss(2.3456);
  job.set_tokens_per_second(12345.6);
  job.set_peak_allocated_bytes(int64_t{9} << 30);
  job.set_priority(50);
  job.set_remaining_seconds(49);
  return job;
}

v1::JobView FinishedJob(const std::string& id, const std::string& name,
                        const std::string& outcome) {
  v1::JobView job = RunningJob(id, name);
  job.set_state("FINISHED");
  job.set_outcome(outcome);
  job.set_step(62);
  job.set_ended_at(1'000'000'000);
  job.set_remaining_seconds(0);
  return job;
}

v1::WorkerView CpuWorker(const std::string& name, const std::string& state) {
  v1::WorkerView worker;
  worker.set_name(name);
  worker.set_host(name.substr(0, name.find('/')));
  worker.set_state(state);
  worker.mutable_device()->set_kind("cpu");
  worker.mutable_device()->set_name("CPU slot (1 thread)");
  worker.mutable_device()->set_memory_bytes(int64_t{16} << 30);
  worker.mutable_device()->set_threads(1);
  worker.mutable_host_sample()->set_cpu_percent(25);
  worker.mutable_host_sample()->set_cpus(8);
  worker.mutable_host_sample()->set_memory_used_bytes(int64_t{4} << 30);
  worker.mutable_host_sample()->set_memory_total_bytes(int64_t{16} << 30);
  return worker;
}

v1::WorkerView GpuWorker(const std::string& name, const std::string& state, double utilization) {
  v1::WorkerView worker = CpuWorker(name, state);
  worker.mutable_device()->set_kind("cuda");
  worker.mutable_device()->set_name("NVIDIA H200");
  worker.mutable_device()->set_memory_bytes(int64_t{140} << 30);
  v1::DeviceSample* sample = worker.mutable_device_sample();
  sample->set_utilization_percent(utilization);
  sample->set_memory_used_bytes(int64_t{44} << 30);
  sample->set_power_watts(612);
  sample->set_temperature_celsius(61);
  return worker;
}

v1::LogChunk Chunk(int64_t rank, const std::string& data) {
  v1::LogChunk chunk;
  chunk.set_rank(rank);
  chunk.set_data(data);
  return chunk;
}

}  // namespace trainctl::client
