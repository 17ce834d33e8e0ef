// What a job could be changed to on this site, and what each change costs: the answer of `trainctl
// advise`. The ways are common/advice's; here the site is asked, and the answer is put into words.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "client/context.h"
#include "client/show/output.h"
#include "client/submit/left_out.h"
#include "client/submit/sweep_points.h"
#include "common/advice/way.h"
#include "common/rank/memory_kind.h"

namespace trainctl::client {

struct AdviceOptions {
  std::set<advice::Liberty> liberties;
  std::optional<double> price_per_device_hour;
  bool all = false;      // ways that fit, not the front alone
  bool by_kind = false;  // a column for each kind of memory
};

struct Advice {
  job::JobSpec job;  // with its micro batch chosen
  std::string device_name;
  job::DeviceKind device_kind = job::DeviceKind::kCuda;
  int64_t devices = 0;       // of that name
  int64_t device_bytes = 0;  // of one
  advice::Ways ways;
  std::vector<LeftOut> left_out;
  std::vector<advice::Way> shown;  // fastest first
  std::optional<double> price_per_device_hour;
  std::vector<job::MemoryKind> kinds;  // that have columns
};

// Asks for devices, the model's inspection and earlier runs. The devices are those of
// advice::ChooseDevices: of hosts whose rules let the job run; of its lease; none that is lost,
// faulty or drained. No way has more of them than policy lets the user have at once. kUnavailable:
// the site is not known, or nobody could inspect. kInvalid: no device is left that meets the job's
// constraints; its lease is none of the site's; its batches are indivisible.
base::Result<Advice> Advise(Context& context, const job::JobSpec& job,
                            const AdviceOptions& options);

// "my-first on 4 × NVIDIA H200 (139.80 GiB): 412 ways, 96 fit."
std::string IntroductionOf(const Advice& advice);
// A row a way: time, seconds a step, peak, devices, price, and the overrides to paste.
Listing ListingOf(const Advice& advice);
// Why ways are left out, and how to take one.
std::string RemarksOn(const Advice& advice, const std::string& file);

// The first ways as jobs of a few steps, which neither evaluate nor keep anything.
Sweep TrialOf(const Advice& advice, size_t ways, int64_t steps);

}  // namespace trainctl::client
