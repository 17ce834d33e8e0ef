#include "server/views/encode_worker.h"

#include "common/wire/device.h"
#include "common/wire/host_rules.h"
#include "common/wire/samples.h"
#include "proto/trainctl.pb.h"

namespace trainctl::views {

v1::WorkerView EncodeWorker(const core::State& state, const core::Worker& worker,
                            const coordinator::WorkerSessions::Session* session,
                            const core::Now& now) {
  v1::WorkerView view;
  view.set_name(worker.row.name);
  view.set_host(worker.row.host);
  view.set_state(std::string(Name(core::StateOf(state, worker))));
  view.set_reason(core::WorkerReason(state, worker));
  if (const core::DrainRow* drain = core::DrainOf(state, worker.row)) {
    view.mutable_drain()->set_target(drain->target);
    view.mutable_drain()->set_user(drain->user);
    view.mutable_drain()->set_reason(drain->reason);
    view.mutable_drain()->set_at(drain->at);
  }
  for (const core::FaultRow* fault : core::FaultsOf(state, worker.row.name)) {
    v1::FaultView& told = *view.add_faults();
    told.set_xid(fault->fault.xid);
    told.set_meaning(std::string(job::MeaningOf(fault->fault.xid)));
    told.set_class_(std::string(Name(job::ClassOf(fault->fault.xid))));
    told.set_at(fault->fault.at);
    told.set_keeps_out(core::KeepsOut(*fault));
  }
  if (const core::SlowRow* slow = core::SlownessOf(state, worker.row.name)) {
    view.mutable_slowness()->set_job(base::ToString(slow->key.job));
    view.mutable_slowness()->set_rank(slow->key.rank);
    view.mutable_slowness()->set_ratio(slow->ratio);
    view.mutable_slowness()->set_at(slow->at);
  }
  if (const auto holder = core::HolderOf(state, worker)) view.set_job(base::ToString(*holder));
  *view.mutable_device() = wire::ToWire(worker.row.device);
  if (session != nullptr && session->device)
    *view.mutable_device_sample() = wire::ToWire(*session->device);
  if (session != nullptr && session->host)
    *view.mutable_host_sample() = wire::ToWire(*session->host);
  view.set_last_seen(session == nullptr ? worker.row.last_seen
                                        : now.wall - (now.steady - session->last_heard));
  return view;
}

void EncodeRules(const job::HostRules& rules, const std::string& user, v1::WorkerView* view) {
  const base::Result<std::string> account = job::UserOf(rules, user);
  const base::Result<base::FileRoots> roots = job::RootsOf(rules, user);
  if (!account || !roots) {
    view->set_bars(account ? roots.error().message : account.error().message);
  } else if (rules.bounds_files()) {
    *view->mutable_rules() = wire::ToWire(job::HostRules{.roots = *roots});
  }
}

}  // namespace trainctl::views
