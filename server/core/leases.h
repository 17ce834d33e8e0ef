// Leases: devices that are one user's for a time. Pure questions about them. lease_wish.h says
// which may be made; lease_events.cc makes, begins and ends them.
//
// Which devices a lease has is decided when it is made: all of one model, and none that another
// lease has at a time of its own. So none is promised twice. While a lease is active its devices
// are of a class of their own (free_devices.h): only its jobs can use them. Before it begins other
// jobs have them, as far as they end in time. A job whose length nobody knows gets a device only
// where the next lease begins later than lease_clearance. Whoever is still there lease_grace before
// a lease begins is told lease_warning ahead, is stopped (PREEMPTED) and queues again.
//
// A lease's own jobs are told lease_warning before its end. They are stopped lease_grace before it,
// and end as LEASE_ENDED; so do those that had not begun. Leases go by wall time, as calendars do:
// where the clock jumps, they jump. Workers that hear nothing keep both by themselves
// (last_moment.h).
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "server/core/state.h"

namespace trainctl::core {

// The moment by which jobs are to be gone, and their devices free, where a lease begins or ends.
base::WallMicros StopAt(const State& state, base::WallMicros at);
// "2026-12-01 14:00 UTC"; with seconds where there are some.
std::string UtcText(base::WallMicros at);

// Not over. nullptr: there is none.
const Lease* FindLease(const State& state, const std::string& name);
const Lease* FindLease(const State& state, int64_t id);
// "lease 'lab' of ann".
std::string LeaseText(const LeaseRow& row);
// "lease 'lab' of ann ends 2026-12-01 14:00 UTC"; "… has a/0 from … on".
std::string LeaseEndText(const LeaseRow& row);
std::string LeaseStartText(const LeaseRow& row, const std::string& worker);
// When a lease that begins or ends at `at` stops the job, and what becomes of what it did:
// "it saves and is stopped 2026-12-01 13:59:30 UTC".
std::string StopText(const State& state, const job::JobSpec& spec, base::WallMicros at);
// Why a job with this spec can't run under the lease that it names; empty: it can, or names none.
std::string LeaseProblem(const State& state, const job::JobSpec& spec);
// Whether jobs may start under it now.
bool IsOpen(const Lease& lease);
// Of a QUEUED job whose lease is not open.
std::string LeaseReason(const State& state, const Job& job, const Now& now);

// Those that have a device of the target, a worker or a host, by their start.
std::vector<const Lease*> LeasesOn(const State& state, const std::string& target);
// Why no job starts on the device now, under whatever lease: "BAD: XID 79 (…) …", "LOST",
// "DRAINED by ops", "removed". Empty: one may.
std::string LeasedDeviceTrouble(const State& state, const std::string& worker);
// The active lease that has the worker's device, or null.
const Lease* ActiveLeaseOf(const State& state, const std::string& worker);
// That one; else the next that begins; or null.
const Lease* NextLeaseOf(const State& state, const std::string& worker);

// ---- for the scheduler: jobs without a lease, on devices that are leased later ----

// How long the job holds a device of this class, as far as leases go.
int64_t LengthAmongLeases(const State& state, const Job& job, placement::ClassId id);
// When, not before `from`, the device is under no lease for so long.
base::SteadyMicros ClearFrom(const State& state, const Worker& worker, base::SteadyMicros from,
                             int64_t length_us, const Now& now);
bool IsClear(const State& state, const Worker& worker, int64_t length_us, const Now& now);
// Whether a lease has a device of the class, now or later.
bool HasLeases(const State& state, placement::ClassId id);
// Whether a lease to come has one.
bool HasLeasesAhead(const State& state, placement::ClassId id);
// Free devices of the class that a lease wants before the job ends.
std::set<placement::DeviceId> BarredDevices(const State& state, placement::ClassId id,
                                            const Job& job, const Now& now);
// For how long as many of the class's free devices as the job wants are under no lease; the largest
// number: for any time. 0: there are not as many.
int64_t RoomBeforeLeases(const State& state, placement::ClassId id, const Job& job, const Now& now);

}  // namespace trainctl::core
