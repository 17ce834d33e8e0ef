// What is seen of a site at one time. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/show/memory_bar.h"
#include "proto/trainctl.pb.h"

namespace trainctl::client {

inline constexpr int kLoadBuckets = 10;  // of half a minute each

// In percent, the oldest first.
using LoadCurve = std::array<std::optional<double>, kLoadBuckets>;

struct SiteView {
  std::string server;
  int64_t time = 0;  // when it was so; wall microseconds
  std::vector<v1::WorkerView> workers;
  std::vector<v1::JobView> running;          // and starting and stopping; the oldest first
  std::vector<v1::JobView> queued;           // in the order in which they wait
  std::vector<v1::JobView> ended;            // the newest end first
  std::map<std::string, LoadCurve> loads;    // by worker and by host
  std::map<std::string, HeldMemory> memory;  // by the id of a job that runs; others are not known
  std::string problem;                       // why it is not seen as it is now; empty: it is
  std::string filter;                        // that left these jobs alone; empty: none did
  size_t all_running = 0, all_queued = 0;    // jobs before that

  // In the order in which they are shown.
  std::vector<const v1::JobView*> jobs() const;
  const v1::JobView* Find(const std::string& id) const;  // nullptr: not among them
};

// The job's first; that of a job without one is not known.
BarDevice FirstDeviceOf(const SiteView& site, const v1::JobView& job);

// The order of the jobs that run; those that wait and have ended keep theirs.
enum class JobOrder { kAge, kName, kOwner, kLeft, kPeak };
inline constexpr std::string_view kJobOrders[] = {"age", "name", "owner", "time left", "peak"};

// Only jobs whose id, name, owner, group, tag or device has the text in it, whatever its case.
SiteView Arranged(SiteView site, JobOrder order, const std::string& filter);

// `unfinished` has the workers too.
SiteView SiteViewOf(std::string server, int64_t time, const v1::ListResponse& unfinished,
                    const v1::ListResponse& ended);

}  // namespace trainctl::client
