// The ways to run one training: other devices, strategy, micro batch, memory savings, each with
// what it is predicted to cost. A way keeps what the job learns, unless a liberty is given. Pure,
// thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/advice/device_choice.h"
#include "common/base/result.h"
#include "common/estimate/host_memory.h"
#include "common/estimate/inspection.h"
#include "common/estimate/memory_estimate.h"
#include "common/estimate/run_time.h"
#include "common/job/job.h"
#include "common/job/site.h"
#include "common/job/user_policy.h"

namespace trainctl::advice {

// What may change although it changes what is learned.
enum class Liberty { kLora, kQlora, kPrecision, kOptimizer };

inline constexpr std::string_view kLiberties = "lora, qlora, precision, optimizer";
std::optional<Liberty> ParseLiberty(std::string_view name);

struct Question {
  job::JobSpec job;  // its micro batch is a number
  job::Inspection inspection;
  job::SiteDevice device;  // one of the equal devices that the job may use
  int64_t devices = 1;     // how many of them there are
  std::set<Liberty> liberties;
  std::vector<job::SiteDevice> all = {};  // of them; none: nothing is known of their hosts
  std::string user = {};                  // who asks
  job::UserPolicy policy = {};            // what the site grants them
  std::vector<DeviceModel> others = {};   // models that the job may use instead
};

struct Way {
  job::JobSpec job;  // resolved
  job::MemoryEstimate memory;
  int64_t limit_bytes = 0;                // of one device; 0: not known
  std::optional<job::TimeEstimate> time;  // nullopt: the device has no rates
  // Of a time from rates: what its step is scaled by (calibration.h).
  double rates_factor = 1;
  // What runs took that other work slowed, where the time is not theirs but from rates.
  std::optional<job::TimeEstimate> slowed = {};

  // Its time comes from earlier runs that nothing else slowed.
  bool is_measured() const { return time && time->earlier_runs > 0 && !time->disturbed; }
  // What earlier runs took, whether or not other work slowed them; null: none ran.
  const job::TimeEstimate* of_runs() const {
    if (slowed) return &*slowed;
    return time && time->earlier_runs > 0 ? &*time : nullptr;
  }
  int64_t peak_bytes() const { return memory.peak_allocated; }
  double device_seconds() const;  // of all its devices together; 0 without a time
  // Of them too; nullopt: nobody has measured what such a device draws.
  std::optional<double> energy_joules() const;
};

// Ways that are left out for one reason.
struct Exclusion {
  std::string reason;
  int64_t ways = 0;
  std::optional<int64_t> least_peak_bytes;  // of those that need more memory than there is
};

struct Ways {
  Way asked;                        // as the job has it, whether or not it fits
  std::string asked_refused;        // why it can't be taken so; empty: it can
  std::vector<Way> fitting;         // leaves the margin of fit.h; the job's own too
  std::vector<Exclusion> excluded;  // most ways first
  int64_t considered = 0;
};

// Devices whose number divides the global batch; single, DDP, FSDP by both shardings; micro batches
// that divide a device's rows; checkpointing of all blocks, or of some; the optimizer in host
// memory; gradients of FSDP reduced once a step, or in each micro step (reduction_limit.h); and the
// liberties'. No more devices than the site's policy lets the user have at once.
// kInvalid: the job's own batches are indivisible, or its data do not fill a step.
base::Result<Ways> FindWays(const Question& question);

// The ways that no other beats in both time and memory, fastest first. A way that saves less than
// 1 % of memory over a faster one is left out. The fastest on each smaller number of devices is
// added. Ways without a time are none.
std::vector<Way> ParetoFront(std::vector<Way> ways);
// Their places among the ways.
std::vector<size_t> PlacesOfFront(const std::vector<Way>& ways);

// What is typed behind `trainctl submit FILE` to get from the job to the way; empty: nothing.
std::string OverridesOf(const job::JobSpec& job, const Way& way);

// Whether its time is from rates, scaled by a factor that people see.
bool IsScaled(const Way& way);

// Where the way's time comes from, for people: "rates", "rates × 1.5", "2 runs", "1 run,
// disturbed", "rates × 1.5 (1 run, disturbed: 0.42 s a step)"; "–": it has none.
std::string SourceOfTime(const Way& way);

}  // namespace trainctl::advice
