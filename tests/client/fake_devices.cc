// Whom the devices of the coordinator in memory are kept for: drains and leases.
#include <algorithm>

#include "common/base/size.h"
#include "tests/client/fake_coordinator.h"

namespace trainctl::client {
namespace {

constexpr int64_t kMicrosASecond = 1'000'000;
constexpr int64_t kShortestSeconds = 120, kLongestSeconds = 86'400;

base::Error NoTarget(const std::string& target) {
  return {base::Code::kNotFound, "no worker or host '" + target + "'"};
}

base::Error NoLease(const std::string& name) {
  return {base::Code::kNotFound, "no lease '" + name + "', or it is over"};
}

base::Error WrongLease(const std::string& what) { return {base::Code::kInvalid, what}; }

base::Error TakenLease(const std::string& what) { return {base::Code::kConflict, what}; }

bool Covers(const std::string& target, const v1::WorkerView& worker) {
  return worker.name() == target || worker.host() == target;
}

bool HasControls(const std::string& text) {
  return std::ranges::any_of(text, [](unsigned char c) { return c < ' ' || c == 0x7f; });
}

v1::Lease* FindLeaseOf(FakeCoordinator* fake, const std::string& name) {
  auto& leases = *fake->leases.mutable_leases();
  const auto found = std::ranges::find(leases, name, &v1::Lease::name);
  return found == leases.end() ? nullptr : &*found;
}

// Whether another lease has it between these.
bool IsLeased(const FakeCoordinator& fake, const std::string& worker, int64_t start, int64_t end,
              const std::string& but = "") {
  return std::ranges::any_of(fake.leases.leases(), [&](const v1::Lease& lease) {
    return lease.name() != but && lease.start() < end && start < lease.end() &&
           std::ranges::count(lease.workers(), worker) > 0;
  });
}

base::Status CheckName(const FakeCoordinator& fake, const std::string& name) {
  if (name.find(' ') != std::string::npos || base::ParseDuration(name))
    return WrongLease("'" + name + "' is no name for a lease");
  for (const v1::Lease& lease : fake.leases.leases()) {
    if (lease.name() == name) return TakenLease("lease '" + name + "' is not over");
  }
  return base::Ok{};
}

base::Status CheckWish(const FakeCoordinator& fake, const v1::LeaseWish& wish) {
  if (wish.seconds() < kShortestSeconds || wish.seconds() > kLongestSeconds)
    return WrongLease("a lease of " + std::to_string(wish.seconds()) + " s");
  if (wish.start() != 0 && wish.start() < fake.leases.now()) return WrongLease("that has passed");
  if (wish.devices() > static_cast<int64_t>(fake.workers.size()))
    return WrongLease("the site has " + std::to_string(fake.workers.size()));
  return base::Ok{};
}

int64_t StartOf(const FakeCoordinator& fake, const v1::LeaseWish& wish) {
  return wish.start() == 0 ? fake.leases.now() : wish.start();
}

// Empty: there are not enough.
std::vector<std::string> FreeWorkers(const FakeCoordinator& fake, const v1::LeaseWish& wish,
                                     int64_t start) {
  std::vector<std::string> free;
  for (const v1::WorkerView& worker : fake.workers) {
    const bool is_enough = static_cast<int64_t>(free.size()) == wish.devices();
    if (!is_enough &&
        !IsLeased(fake, worker.name(), start, start + wish.seconds() * kMicrosASecond))
      free.push_back(worker.name());
  }
  if (static_cast<int64_t>(free.size()) < wish.devices()) free.clear();
  return free;
}

}  // namespace

google::protobuf::RepeatedPtrField<v1::Lease> FakeCoordinator::LeasesOn(
    const std::string& target) const {
  google::protobuf::RepeatedPtrField<v1::Lease> leased;
  for (const v1::Lease& lease : leases.leases()) {
    if (std::ranges::any_of(lease.workers(), [&](const std::string& worker) {
          return worker == target || worker.starts_with(target + "/");
        }))
      *leased.Add() = lease;
  }
  return leased;
}

base::Result<v1::DrainResponse> FakeApi::Drain(const v1::DrainRequest& request) {
  if (fake_->unreachable) return Unreachable();
  v1::DrainResponse response;
  bool found = false;
  if (HasControls(request.reason())) return WrongLease("the reason has control characters");
  for (v1::WorkerView& worker : fake_->workers) {
    if (!Covers(request.target(), worker)) continue;
    found = true;
    worker.mutable_drain()->set_target(request.target());
    worker.mutable_drain()->set_user("ann");
    worker.mutable_drain()->set_reason(request.reason());
    if (worker.state() == "READY") worker.set_state("DRAINED");
    if (!worker.job().empty()) response.add_jobs(worker.job());
  }
  *response.mutable_leases() = fake_->LeasesOn(request.target());
  if (!found) return NoTarget(request.target());
  return response;
}

base::Result<v1::UndrainResponse> FakeApi::Undrain(const v1::UndrainRequest& request) {
  if (fake_->unreachable) return Unreachable();
  v1::UndrainResponse response;
  std::vector<std::string> drains;
  bool found = false;
  for (v1::WorkerView& worker : fake_->workers) {
    if (!Covers(request.target(), worker)) continue;
    found = true;
    const std::string drained = worker.drain().target();
    if (worker.has_drain() && worker.name() == request.target() && drained != request.target())
      return TakenLease("host '" + drained + "' is drained as a whole");
    if (worker.has_drain() && std::ranges::count(drains, drained) == 0) {
      drains.push_back(drained);
      response.add_ended("the drain of " + drained);
    }
    worker.clear_drain();
    if (worker.state() == "DRAINED") worker.set_state("READY");
    const bool ends = request.faults() || worker.name() == request.target();
    for (const v1::FaultView& fault : worker.faults()) {
      if (!ends) response.add_kept(worker.name() + " is BAD: XID " + std::to_string(fault.xid()));
    }
    if (ends) worker.clear_faults();
  }
  if (!found) return NoTarget(request.target());
  return response;
}

base::Result<v1::CreateLeaseResponse> FakeApi::CreateLease(const v1::CreateLeaseRequest& request) {
  if (fake_->unreachable) return Unreachable();
  v1::CreateLeaseResponse response;
  const auto known = fake_->lease_requests.find(request.request_id());
  if (known != fake_->lease_requests.end()) {
    *response.mutable_lease() = *FindLeaseOf(fake_, known->second);
    return response;
  }
  if (const base::Status named = CheckName(*fake_, request.name()); !named.ok())
    return named.error();
  if (const base::Status wished = CheckWish(*fake_, request.wish()); !wished.ok())
    return wished.error();
  const int64_t start = StartOf(*fake_, request.wish());
  const std::vector<std::string> workers = FreeWorkers(*fake_, request.wish(), start);
  if (workers.empty()) return TakenLease("its devices are leased then");
  v1::Lease& lease = *fake_->leases.add_leases();
  lease.set_name(request.name().empty() ? "lease-1" : request.name());
  lease.set_owner("ann");
  lease.set_state(start > fake_->leases.now() ? "UPCOMING" : "ACTIVE");
  lease.set_start(start);
  lease.set_end(start + request.wish().seconds() * kMicrosASecond);
  lease.set_created_at(fake_->leases.now());
  lease.mutable_workers()->Assign(workers.begin(), workers.end());
  fake_->lease_requests[request.request_id()] = lease.name();
  *response.mutable_lease() = lease;
  return response;
}

base::Result<v1::FindLeaseResponse> FakeApi::FindLease(const v1::FindLeaseRequest& request) {
  if (fake_->unreachable) return Unreachable();
  if (const base::Status wished = CheckWish(*fake_, request.wish()); !wished.ok())
    return wished.error();
  std::vector<int64_t> starts = {StartOf(*fake_, request.wish())};
  for (const v1::Lease& lease : fake_->leases.leases()) {
    if (lease.end() > starts.front()) starts.push_back(lease.end());
  }
  std::ranges::sort(starts);
  for (const int64_t start : starts) {
    const std::vector<std::string> workers = FreeWorkers(*fake_, request.wish(), start);
    if (workers.empty()) continue;
    v1::FindLeaseResponse response;
    response.set_start(start);
    response.mutable_workers()->Assign(workers.begin(), workers.end());
    return response;
  }
  return TakenLease("no block is free");
}

base::Result<v1::LeasesResponse> FakeApi::Leases() {
  if (fake_->unreachable) return Unreachable();
  return fake_->leases;
}

base::Result<v1::ExtendLeaseResponse> FakeApi::ExtendLease(const v1::ExtendLeaseRequest& request) {
  if (fake_->unreachable) return Unreachable();
  v1::Lease* lease = FindLeaseOf(fake_, request.name());
  if (lease == nullptr) return NoLease(request.name());
  if (request.seconds() <= 0) return WrongLease("by how much?");
  v1::ExtendLeaseResponse response;
  const int64_t was = request.end_was() == 0 ? lease->end() : request.end_was();
  const int64_t end = was + request.seconds() * kMicrosASecond;
  if (lease->end() == end) {
    *response.mutable_lease() = *lease;
    return response;
  }
  if (lease->end() != was) return TakenLease("it ends at another time");
  for (const std::string& worker : lease->workers()) {
    if (IsLeased(*fake_, worker, lease->start(), end, lease->name()))
      return TakenLease(worker + " is leased then");
  }
  lease->set_end(end);
  if (fake_->lost_answers-- > 0) return Unreachable();
  *response.mutable_lease() = *lease;
  return response;
}

base::Result<v1::DeleteLeaseResponse> FakeApi::DeleteLease(const v1::DeleteLeaseRequest& request) {
  if (fake_->unreachable) return Unreachable();
  const v1::Lease* lease = FindLeaseOf(fake_, request.name());
  if (lease == nullptr) return NoLease(request.name());
  v1::DeleteLeaseResponse response;
  *response.mutable_lease() = *lease;
  std::erase_if(fake_->lease_requests,
                [&](const auto& known) { return known.second == request.name(); });
  auto& leases = *fake_->leases.mutable_leases();
  leases.erase(std::ranges::find(leases, request.name(), &v1::Lease::name));
  return response;
}

}  // namespace trainctl::client
