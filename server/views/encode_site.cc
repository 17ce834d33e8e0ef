#include "server/views/encode_site.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "common/wire/user_policy.h"
#include "server/coordinator/overlay.h"
#include "server/core/quota.h"
#include "server/views/encode_job.h"
#include "server/views/encode_worker.h"

namespace trainctl::views {
namespace {

constexpr int kMostWaits = 16;  // of a group's jobs it is told why they wait, device by device

void AddWorkers(const coordinator::Coordinator& coordinator,
                google::protobuf::RepeatedPtrField<v1::WorkerView>* workers) {
  const auto& sessions = coordinator.workers().all();
  for (const auto& [name, worker] : coordinator.state().workers) {
    const auto session = sessions.find(name);
    *workers->Add() =
        EncodeWorker(coordinator.state(), worker,
                     session == sessions.end() ? nullptr : &session->second, coordinator.Now());
  }
}

v1::UserPolicy EncodePolicy(const core::State& state, const std::string& user) {
  v1::UserPolicy message = wire::ToWire(state.options.policy.Of(user));
  message.set_user(user);
  message.set_max_queued_jobs(core::MostWaitingJobsOf(state, user));
  message.set_waiting_jobs(core::WaitingJobsOf(state, user));
  message.set_held_devices(core::HeldBy(state, user));
  return message;
}

// -1: nothing was told then.
void Encode(const coordinator::RecentLoads::Curve& curve,
            google::protobuf::RepeatedField<int32_t>* percents) {
  for (const std::optional<double>& percent : curve)
    percents->Add(percent ? static_cast<int32_t>(std::lround(std::clamp(*percent, 0.0, 100.0)))
                          : -1);
}

}  // namespace

void AddLoads(const coordinator::Coordinator& coordinator,
              google::protobuf::RepeatedPtrField<v1::WorkerView>* workers) {
  const base::SteadyMicros now = coordinator.Now().steady;
  for (v1::WorkerView& worker : *workers) {
    const coordinator::RecentLoads::Curves curves = coordinator.loads().Of(worker.name(), now);
    Encode(curves.device, worker.mutable_load_history()->mutable_device_percent());
    Encode(curves.host, worker.mutable_load_history()->mutable_host_percent());
  }
}

v1::ListResponse EncodeList(const coordinator::Coordinator& coordinator,
                            std::vector<store::StoredJob> jobs) {
  v1::ListResponse response;
  coordinator::EndThoseThatEnded(coordinator, &jobs);
  for (store::StoredJob& job : jobs)
    *response.add_jobs() = EncodeJob(coordinator::Snapshot(coordinator, std::move(job)));
  AddWorkers(coordinator, response.mutable_workers());
  response.set_store_trouble(coordinator.store_trouble());
  return response;
}

v1::WorkersResponse EncodeWorkers(const coordinator::Coordinator& coordinator) {
  v1::WorkersResponse response;
  AddWorkers(coordinator, response.mutable_workers());
  return response;
}

v1::WorkersResponse EncodeWorkersFor(const std::string& user,
                                     const coordinator::Coordinator& coordinator) {
  v1::WorkersResponse response = EncodeWorkers(coordinator);
  *response.mutable_policy() = EncodePolicy(coordinator.state(), user);
  for (v1::WorkerView& worker : *response.mutable_workers()) {
    const auto known = coordinator.state().workers.find(worker.name());
    if (known != coordinator.state().workers.end()) EncodeRules(known->second.rules, user, &worker);
  }
  return response;
}

v1::GetResponse EncodeDetails(const coordinator::Coordinator& coordinator,
                              coordinator::Details details) {
  v1::GetResponse response;
  if (details.group) response.set_group(base::ToString(details.group));
  response.set_group_name(details.group_name);
  for (coordinator::JobDetail& detail : details.jobs) {
    coordinator::BringUpToDate(coordinator.state(), detail.job.row.id, &detail.attempts);
    const base::JobId id = detail.job.row.id;
    v1::JobDetail& message = *response.add_jobs();
    message = EncodeDetail(coordinator::Snapshot(coordinator, std::move(detail.job)), detail);
    if (response.jobs_size() <= kMostWaits)
      EncodeWait(coordinator.state(), id, coordinator.Now(), &message);
  }
  return response;
}

}  // namespace trainctl::views
