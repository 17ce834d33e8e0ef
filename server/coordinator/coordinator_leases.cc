// Leases, as clients ask for them. Each is decided after all events that came before: two
// who ask at once never get one device.
#include <algorithm>
#include <string>
#include <utility>

#include "common/base/utf8.h"
#include "server/auth/permissions.h"
#include "server/coordinator/coordinator.h"

namespace trainctl::coordinator {
namespace {

base::Error NotStored() {
  return {base::Code::kUnavailable, "the coordinator can't store anything now: try later"};
}

base::Status CheckNumber(const core::State& state, const auth::Caller& caller) {
  const int64_t most = state.options.max_leases_of_user;
  const int64_t has = std::ranges::count_if(
      state.leases, [&](const auto& entry) { return entry.second.row.user == caller.name; });
  if (caller.role >= auth::Role::kOperator || has < most) return base::Ok{};
  return base::Error{base::Code::kExhausted,
                     caller.name + " has " + std::to_string(has) +
                         " leases that are not over, and may not have more: delete some"};
}

const core::LeaseRow* FindRequest(const core::State& state, const std::string& request_id) {
  for (const auto& [id, lease] : state.leases) {
    if (lease.row.request_id == request_id) return &lease.row;
  }
  return nullptr;
}

}  // namespace

void Coordinator::CreateLease(const NewLeaseRequest& request, const auth::Caller& caller,
                              LeaseAnswer answer) {
  Drain();
  if (stale_) return answer(NotStored());
  if (const core::LeaseRow* first = FindRequest(state_, request.request_id)) {
    const base::Status theirs =
        auth::CheckOwnerOf(caller, "ExtendLease", "lease '" + first->name + "'", first->user);
    if (!theirs) return answer(theirs.error());
    return answer(*first);
  }
  if (const base::Status number = CheckNumber(state_, caller); !number)
    return answer(number.error());
  core::LeaseWish wish = request.wish;
  wish.user = caller.name;
  auto row = core::NewLease(state_, wish, request.name, Now());
  if (!row) return answer(row.error());
  row->request_id = request.request_id;
  Audit(caller, "lease", row->name);
  parts_.log.Info("leased", {{"lease", row->name},
                             {"user", caller.name},
                             {"devices", std::to_string(row->workers.size())},
                             {"from", core::UtcText(row->start)},
                             {"until", core::UtcText(row->end)}});
  Apply(core::LeaseMade{*row},
        [this, row = *row, answer = std::move(answer)](const base::Status& status) {
          if (!status) return answer(status.error());
          const core::LeaseRow* made = FindRequest(state_, row.request_id);
          if (made != nullptr) return answer(*made);
          answer(base::Error{base::Code::kConflict, "its devices were given away: ask again"});
        });
}

base::Result<core::LeaseBlock> Coordinator::FindLeaseBlock(const core::LeaseWish& wish) {
  Drain();
  if (stale_) return NotStored();
  return core::FindBlock(state_, wish, Now());
}

base::Result<core::Lease> Coordinator::LeaseToChange(const std::string& name,
                                                     const auth::Caller& caller,
                                                     std::string_view rpc) const {
  const core::Lease* lease = core::FindLease(state_, name);
  if (lease == nullptr) {
    return base::Error{base::Code::kNotFound, "no lease '" + base::Excerpt(name, 128) +
                                                  "', or it is over; trainctl lease ls lists them"};
  }
  const base::Status theirs =
      auth::CheckOwnerOf(caller, rpc, "lease '" + lease->row.name + "'", lease->row.user);
  if (!theirs) return theirs.error();
  return *lease;
}

void Coordinator::ExtendLease(const std::string& name, const core::LeaseExtension& asked,
                              const auth::Caller& caller, LeaseAnswer answer) {
  Drain();
  if (stale_) return answer(NotStored());
  const auto lease = LeaseToChange(name, caller, "ExtendLease");
  if (!lease) return answer(lease.error());
  const auto end = core::LaterEnd(state_, *lease, asked);
  if (!end) return answer(end.error());
  if (*end == lease->row.end) return answer(lease->row);
  Audit(caller, "extend", name);
  parts_.log.Info("lease_extended",
                  {{"lease", name}, {"user", caller.name}, {"until", core::UtcText(*end)}});
  Apply(core::LeaseExtended{lease->row.id, *end},
        [this, id = lease->row.id, end = *end,
         answer = std::move(answer)](const base::Status& status) {
          if (!status) return answer(status.error());
          const core::Lease* longer = core::FindLease(state_, id);
          if (longer != nullptr && longer->row.end >= end) return answer(longer->row);
          answer(base::Error{base::Code::kConflict, "it changed meanwhile: ask again"});
        });
}

void Coordinator::DeleteLease(const std::string& name, const auth::Caller& caller,
                              LeaseAnswer answer) {
  Drain();
  if (stale_) return answer(NotStored());
  const auto lease = LeaseToChange(name, caller, "DeleteLease");
  if (!lease) return answer(lease.error());
  Audit(caller, "unlease", name);
  parts_.log.Info("lease_deleted", {{"lease", name}, {"user", caller.name}});
  Apply(core::LeaseDeleted{lease->row.id, caller.name},
        [row = lease->row, answer = std::move(answer)](const base::Status& status) {
          if (!status) return answer(status.error());
          answer(row);
        });
}

}  // namespace trainctl::coordinator
