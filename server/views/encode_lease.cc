#include "server/views/encode_lease.h"

#include <algorithm>
#include <vector>

#include "common/job/lease_state.h"

namespace trainctl::views {
namespace {

job::LeaseState StateOf(const core::Lease* lease) {
  if (lease == nullptr || lease->closing) return job::LeaseState::kEnding;
  return lease->active ? job::LeaseState::kActive : job::LeaseState::kUpcoming;
}

}  // namespace

v1::Lease EncodeLease(const core::State& state, const core::LeaseRow& row) {
  v1::Lease message;
  const core::Lease* lease = core::FindLease(state, row.id);
  message.set_name(row.name);
  message.set_owner(row.user);
  message.set_state(std::string(Name(StateOf(lease))));
  message.set_start(row.start);
  message.set_end(row.end);
  message.set_created_at(row.created_at);
  for (const std::string& name : row.workers) {
    message.add_workers(name);
    v1::LeaseDevice* device = message.add_devices();
    device->set_worker(name);
    device->set_trouble(core::LeasedDeviceTrouble(state, name));
    const auto worker = state.workers.find(name);
    if (worker != state.workers.end()) message.set_device_name(worker->second.row.device.name);
  }
  if (lease == nullptr) return message;
  for (const base::JobId id : lease->jobs) {
    const core::Job* job = core::FindJob(state, id);
    v1::LeaseJob* under = message.add_jobs();
    under->set_id(base::ToString(id));
    under->set_name(job->row.spec.name);
    under->set_state(std::string(job::Name(job->status.state)));
  }
  return message;
}

google::protobuf::RepeatedPtrField<v1::Lease> EncodeLeasesOn(const core::State& state,
                                                             const std::string& target) {
  google::protobuf::RepeatedPtrField<v1::Lease> leases;
  for (const core::Lease* lease : core::LeasesOn(state, target))
    *leases.Add() = EncodeLease(state, lease->row);
  return leases;
}

v1::LeasesResponse EncodeLeases(const coordinator::Coordinator& coordinator) {
  const core::State& state = coordinator.state();
  std::vector<const core::LeaseRow*> rows;
  for (const auto& [id, lease] : state.leases) rows.push_back(&lease.row);
  std::ranges::stable_sort(rows, {}, &core::LeaseRow::start);
  v1::LeasesResponse response;
  for (const core::LeaseRow* row : rows) *response.add_leases() = EncodeLease(state, *row);
  response.set_now(coordinator.Now().wall);
  response.set_grace_us(state.options.lease_grace_us);
  return response;
}

}  // namespace trainctl::views
