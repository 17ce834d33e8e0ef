#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/plural.h"
#include "common/base/size.h"
#include "common/rank/disturbance.h"
#include "common/rank/reduction.h"
#include "server/compare/sections.h"

namespace trainctl::compare {
namespace {

// Sections whose numbers a warning makes doubtful. Those of a profile are parts of a step's time.
// Energy is of the device, and grows with time.
using Sections = std::span<const job::MetricSection>;
using enum job::MetricSection;
constexpr std::array kTimes = {kTime, kProfile};
constexpr std::array kTimesAndLosses = {kTime, kLoss, kProfile};
constexpr std::array kTimesAndMemory = {kTime, kMemory, kProfile};
constexpr std::array kTimesAndDevice = {kTime, kDevice, kProfile};
constexpr std::array kHardware = {kTime, kMemory, kDevice, kProfile};
constexpr std::array kTotals = {kTime, kDevice, kLoss};
constexpr std::array kAll = {kTime, kMemory, kDevice, kLoss, kProfile};

struct Circumstance {
  const char* name;
  std::string Run::* value;
  const char* consequence;
  Sections doubtful;
};

constexpr Circumstance kCircumstances[] = {
    {"device", &Run::device_name, "time and memory are of different hardware", kHardware},
    {"host", &Run::host, "processors, links and neighbours may differ", kTimesAndDevice},
    {"driver", &Run::driver, "time may differ for that alone", kTimes},
    {"LibTorch", &Run::libtorch, "time and memory may differ for that alone", kTimesAndMemory},
    {"NCCL", &Run::nccl, "communication time may differ for that alone", kTimes},
    {"commit", &Run::commit, "another version of trainctl made the other run", kAll},
};

Warning WarningOf(std::string text, Sections doubtful) {
  Warning warning{.text = std::move(text), .sections = {}};
  for (const job::MetricSection section : doubtful)
    warning.sections.emplace_back(job::Name(section));
  return warning;
}

bool HasCutRows(const Run& run) {
  return run.inspection && job::LongestRow(*run.inspection) >= run.job.train.max_seq_length;
}

// "; rates and memory are comparable": what all other warnings leave.
std::string StillComparable(const std::vector<Run>& runs, const Comparability& found) {
  const auto is_comparable = [&](job::Metric metric) {
    return found.IsComparable(RowOf(job::Info(metric)), runs.size());
  };
  const bool rates = is_comparable(job::Metric::kSamplesPerSecond);
  const bool memory = is_comparable(job::Metric::kMemoryPeakAllocated);
  if (rates && memory) return "; rates and memory are comparable";
  if (rates) return "; rates are comparable";
  return memory ? "; memory is comparable" : "";
}

// "j5 8 steps, 64 rows". Of runs that have trained and whose numbers are shown. It stands before
// the other warnings. Which values depend on the amount, and of which runs, is told in mark_row.cc.
void WarnOfAmount(const std::vector<Run>& runs, Comparability* found) {
  std::string text;
  std::optional<Amount> first;
  bool differs = false;
  for (const Run& run : runs) {
    const Amount amount = AmountOf(run);
    if (amount.steps == 0 || run.state != job::JobState::kFinished || !HasMeasurements(run))
      continue;
    differs = differs || (first && !amount.IsAsMuchAs(*first));
    if (!first) first = amount;
    text += (text.empty() ? "" : "; ") + run.id + " " + base::Plural(amount.steps, "step");
    if (amount.rows > 0) text += ", " + base::WithThousands(std::llround(amount.rows)) + " rows";
  }
  if (!differs) return;
  found->warnings.insert(found->warnings.begin(),
                         WarningOf("the runs trained different amounts (" + text +
                                       "): times and losses are not of the same training" +
                                       StillComparable(runs, *found),
                                   kTotals));
}

// A sample of fewer tokens takes less time.
void WarnOfLength(const std::vector<Run>& runs, Comparability* found) {
  if (std::ranges::none_of(runs, HasCutRows)) return;
  Kinds kinds =
      KindsOf(runs, [](const Run& run) { return std::to_string(run.job.train.max_seq_length); });
  const std::string lengths = Differing(kinds);
  if (lengths.empty()) return;
  found->doubts.push_back({.rows = {std::string(job::Name(kLoss)),
                                    std::string(job::Name(job::Metric::kSamplesPerSecond))},
                           .kinds = std::move(kinds)});
  found->warnings.push_back(WarningOf(
      "rows are cut at different lengths (train.max_seq_length " + lengths +
          "): other tokens are trained on; losses, samples/s and speed-up are not comparable",
      kTimesAndLosses));
}

job::HostUse HostUseOf(const Run& run) {
  return {.device_name = run.device_name,
          .exclusive = run.job.exclusive,
          .neighbours = run.neighbours,
          .metrics = run.metrics};
}

// The jobs with which the run shared processors; empty: none.
std::string SharedText(const Run& run) {
  std::string text;
  for (const job::Neighbour& other : job::SharedWith(HostUseOf(run)))
    text += (text.empty() ? "" : ", ") + base::ToString(other.job) + " on " + other.host;
  return text;
}

void WarnOfSharing(const std::vector<Run>& runs, Comparability* found) {
  std::string text;
  for (const Run& run : runs) {
    const std::string others = SharedText(run);
    if (!others.empty()) text += (text.empty() ? "" : "; ") + NameAndId(run) + " with " + others;
  }
  if (text.empty()) return;
  Warn(WarningOf("runs shared a host's processors with other jobs (" + text +
                     "): their times are not those of a host of their own; \"exclusive\": true in "
                     "the job file gives a run its host to itself",
                 kTimesAndDevice),
       Apart(runs, [](const Run& run) { return !SharedText(run).empty(); }), found);
}

// That none of the site's jobs explains.
void WarnOfForeignLoad(const std::vector<Run>& runs, Comparability* found) {
  std::string text;
  for (const Run& run : runs) {
    if (const std::optional<double> percent = job::ForeignLoad(HostUseOf(run))) {
      text += (text.empty() ? "" : "; ") + NameAndId(run) + " " +
              std::to_string(std::llround(*percent)) + " %";
    }
  }
  if (text.empty()) return;
  Warn(WarningOf("a host's processors were saturated though no other job ran there (" + text +
                     "): programs that are not the site's may have slowed the run; trainctl top "
                     "shows who uses a host",
                 kTimesAndDevice),
       Apart(runs, [](const Run& run) { return job::ForeignLoad(HostUseOf(run)).has_value(); }),
       found);
}

// Of those that any rank traced.
int64_t StepsTraced(const Run& run) {
  int64_t traced = 0;
  for (const job::MetricSummary& summary : run.metrics) {
    if (summary.name == job::Name(job::Metric::kProfileStep))
      traced = std::max(traced, summary.count);
  }
  return traced;
}

// "1 of 40"; "0": none was traced.
std::string ShareTraced(const Run& run) {
  const int64_t traced = StepsTraced(run);
  if (traced == 0) return "0";
  return base::WithThousands(traced) + " of " + base::WithThousands(job::StepsTrained(run.metrics));
}

// Runs that traced as many of as many steps are slower alike.
void WarnOfTraces(const std::vector<Run>& runs, Comparability* found) {
  Kinds shares = KindsOf(runs, ShareTraced);
  if (Differing(shares).empty()) return;
  std::string text;
  for (const Run& run : runs) {
    if (StepsTraced(run) > 0)
      text += (text.empty() ? "" : "; ") + NameAndId(run) + " " + ShareTraced(run);
  }
  Warn(WarningOf("some steps were traced (" + text +
                     "): those are slower, and count in the run's time and rates",
                 kTimes),
       std::move(shares), found);
}

void WarnOfInterruptions(const std::vector<Run>& runs, Comparability* found) {
  for (const Run& run : runs) {
    if (run.attempts <= 1 && !run.preempted) continue;
    const std::string what = run.preempted ? "was preempted" : "was restarted";
    Warn(WarningOf(NameAndId(run) + " " + what + " (" + std::to_string(run.attempts) +
                       " attempts): its time is not that of one undisturbed run",
                   kTimesAndDevice),
         Apart(runs, [&run](const Run& other) { return other.id == run.id; }), found);
  }
}

void WarnOfUnfinished(const std::vector<Run>& runs, Comparability* found) {
  for (const Run& run : runs) {
    if (run.state == job::JobState::kFinished) continue;
    Warn(WarningOf(NameAndId(run) + " has not finished: its numbers are of the run so far", kAll),
         Apart(runs, [&run](const Run& other) { return other.id == run.id; }), found);
  }
}

// "b" of "a, b".
bool HasHost(const std::string& hosts, const std::string& host) {
  return (", " + hosts + ", ").find(", " + host + ", ") != std::string::npos;
}

// A gang of more devices takes more hosts: those of the smaller one are among them.
bool AreNested(const Run& left, const Run& right) {
  if (left.job.devices > right.job.devices) return AreNested(right, left);
  if (left.job.devices == right.job.devices) return left.host == right.host;
  for (size_t begin = 0; begin < left.host.size();) {
    const size_t end = std::min(left.host.find(", ", begin), left.host.size());
    if (!HasHost(right.host, left.host.substr(begin, end - begin))) return false;
    begin = end + 2;
  }
  return true;
}

bool AreAllNested(const std::vector<Run>& runs) {
  return std::ranges::all_of(runs, [&](const Run& left) {
    return std::ranges::all_of(runs, [&](const Run& right) { return AreNested(left, right); });
  });
}

void WarnOfCircumstances(const std::vector<Run>& runs, Comparability* found) {
  for (const Circumstance& circumstance : kCircumstances) {
    Kinds kinds = KindsOf(runs, [&](const Run& run) { return run.*circumstance.value; });
    const std::string values = Differing(kinds);
    if (values.empty() || (circumstance.value == &Run::host && AreAllNested(runs))) continue;
    Warn(WarningOf(std::string("the ") + circumstance.name + " differs (" + values +
                       "): " + circumstance.consequence,
                   circumstance.doubtful),
         std::move(kinds), found);
  }
}

}  // namespace

Comparability ComparabilityOf(const std::vector<Run>& runs) {
  Comparability found;
  DoubtLosses(runs, &found);
  WarnOfLength(runs, &found);
  WarnOfCircumstances(runs, &found);
  WarnOfSharing(runs, &found);
  WarnOfForeignLoad(runs, &found);
  WarnOfTraces(runs, &found);
  WarnOfInterruptions(runs, &found);
  WarnOfUnfinished(runs, &found);
  WarnOfAmount(runs, &found);
  return found;
}

}  // namespace trainctl::compare
