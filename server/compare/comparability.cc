#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/plural.h"
#include "common/base/size.h"
#include "common/job/batch.h"
#include "common/job/job_json.h"
#include "common/rank/disturbance.h"
#include "common/rank/reduction.h"
#include "server/compare/sections.h"

namespace trainctl::compare {
namespace {

// The distinct known values in order of the runs: "8, 32". Empty where fewer than two are known to
// differ.
std::string Differing(const std::vector<Run>& runs,
                      const std::function<std::string(const Run&)>& value_of) {
  std::set<std::string> seen;
  std::string text;
  for (const Run& run : runs) {
    const std::string value = value_of(run);
    if (value.empty() || !seen.insert(value).second) continue;
    text += (text.empty() ? "" : ", ") + value;
  }
  return seen.size() < 2 ? "" : text;
}

std::string GlobalBatch(const Run& run) {
  const base::Result<job::BatchPlan> batch = job::PlanBatch(run.job);
  return batch.ok() ? std::to_string(batch->global) : "";
}

std::string DataDigest(const Run& run) { return run.inspection ? run.inspection->data_digest : ""; }

constexpr std::string_view kColumns = "data.columns";

// Of the columns all: "text caption", or "none".
std::string ValueOf(const Run& run, std::string_view key) {
  const std::string prefix = std::string(kColumns) + ".";
  std::string columns;
  for (const auto& [name, text] : job::Flatten(run.job)) {
    if (name == key) return text;
    if (key == kColumns && name.starts_with(prefix))
      columns += (columns.empty() ? "" : " ") + name.substr(prefix.size()) + " " + text;
  }
  return key == kColumns && columns.empty() ? "none" : columns;
}

std::string NameAndId(const Run& run) { return run.name + " (" + run.id + ")"; }

std::string LrScaling(const Run& run) {
  return run.job.optimizer.lr_scaling == job::LrScaling::kLinear ? "linear" : "none";
}

// What besides the file decides which tokens are trained on, and in which order.
struct DataSetting {
  std::string_view key;
  const char* consequence;
};

constexpr DataSetting kDataSettings[] = {
    {"data.format", "the rows are read in another way"},
    {kColumns, "other columns of the rows are read"},
    {"data.template", "the conversations are written in another way"},
    {"data.max_rows", "one has rows that another never sees"},
    {"data.val_split_fraction", "other rows are trained on and validated with"},
    {"data.mask_prompt", "other tokens count in the loss"},
    {"train.group_by_length", "the rows come in another order"},
    {"train.packing", "a step has other rows, and another number of them"},
    {"data.seed", "the rows are split and shuffled in another way"},
};

// Of runs that validate: on which rows.
constexpr std::string_view kEvalRows = "eval.max_rows";

// Sections whose numbers a warning makes doubtful. Those of a profile are parts of a step's time.
// Energy is of the device, and grows with time.
using Sections = std::span<const job::MetricSection>;
using enum job::MetricSection;
constexpr std::array kLosses = {kLoss};
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

void Warn(std::string text, Sections doubtful, Comparability* found) {
  Warning& warning = found->warnings.emplace_back(Warning{.text = std::move(text), .sections = {}});
  for (const job::MetricSection section : doubtful)
    warning.sections.emplace_back(job::Name(section));
}

void RefuseLosses(std::string warning, Comparability* found) {
  Warn(std::move(warning), kLosses, found);
  found->losses = found->validation_losses = false;
}

void WarnOfData(const std::vector<Run>& runs, Comparability* found) {
  if (!Differing(runs, DataDigest).empty())
    RefuseLosses("the data differ (other bytes in the file): losses are not comparable", found);
  for (const DataSetting& setting : kDataSettings) {
    const std::string values =
        Differing(runs, [&](const Run& run) { return ValueOf(run, setting.key); });
    if (values.empty()) continue;
    RefuseLosses(std::string(setting.key) + " differs (" + values + "): " + setting.consequence +
                     "; losses are not comparable",
                 found);
  }
}

// Rows whose pictures can't be read. One file may have more of them on another day or host.
void WarnOfSkippedRows(const std::vector<Run>& runs, Comparability* found) {
  std::string text;
  std::set<int64_t> counts;
  for (const Run& run : runs) {
    if (!HasMeasurements(run)) continue;
    const auto skipped = job::Reduce(job::Metric::kSkippedRows, run.metrics);
    const int64_t count = skipped ? std::llround(skipped->value) : 0;
    counts.insert(count);
    text += (text.empty() ? "" : ", ") + run.id + " " + std::to_string(count);
  }
  if (counts.size() < 2) return;
  RefuseLosses("other numbers of rows are left out, whose pictures can't be read (" + text +
                   "): losses are not comparable",
               found);
}

// Two revisions of one model of the hub. That models differ is a setting.
void WarnOfRevisions(const std::vector<Run>& runs, Comparability* found) {
  std::set<std::string> models;
  for (const Run& run : runs) models.insert(run.job.model.path);
  for (const std::string& model : models) {
    const std::string revisions = Differing(runs, [&](const Run& run) {
      return run.inspection && run.job.model.path == model ? run.inspection->model_revision : "";
    });
    if (revisions.empty()) continue;
    RefuseLosses("the revision of " + model + " differs (" + revisions +
                     "): the runs began with other weights; losses are not comparable",
                 found);
  }
}

void WarnOfValidation(const std::vector<Run>& runs, Comparability* found) {
  const std::string values = Differing(runs, [](const Run& run) {
    return job::Validates(run.job.data) ? ValueOf(run, kEvalRows) : std::string();
  });
  if (values.empty()) return;
  found->validation_losses = false;
  Warn(std::string(kEvalRows) + " differs (" + values +
           "): validated with other rows; validation losses are not comparable",
       kLosses, found);
}

bool HasCutRows(const Run& run) {
  return run.inspection && run.inspection->longest_row >= run.job.train.max_seq_length;
}

// "128, 256"; empty: rows are cut at one length, or none is cut.
std::string CutLengths(const std::vector<Run>& runs) {
  if (std::ranges::none_of(runs, HasCutRows)) return "";
  return Differing(runs,
                   [](const Run& run) { return std::to_string(run.job.train.max_seq_length); });
}

// "j5 8 steps, 64 rows". Of runs that have trained and whose numbers are shown.
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
  Warn("the runs trained different amounts (" + text +
           "): times and losses are not of the same training; " +
           (CutLengths(runs).empty() ? "rates and memory are comparable" : "memory is comparable"),
       kTotals, found);
}

// Empty: the run began at step 0.
std::string StepsBefore(const Run& run) {
  const job::CheckpointSpec& checkpoint = run.job.checkpoint;
  if (!checkpoint.resume_from && !checkpoint.resume_job) return "";
  const int64_t steps = run.inspection ? run.inspection->resume_step : 0;
  return NameAndId(run) + " goes on from a checkpoint" +
         (checkpoint.resume_job ? " of " + *checkpoint.resume_job : "") + ", and its model had " +
         (steps > 0 ? base::Plural(steps, "step") : "steps") + " before";
}

// Losses of a model that was trained before are lower for that alone. Runs from one checkpoint are
// equal in that.
void WarnOfStepsBefore(const std::vector<Run>& runs, Comparability* found) {
  std::string text;
  std::set<std::string> origins;
  for (const Run& run : runs) {
    const std::string steps = StepsBefore(run);
    const int64_t number = run.inspection ? run.inspection->resume_step : 0;
    origins.insert(steps.empty() ? ""
                                 : run.job.checkpoint.resume_from.value_or("") + " " +
                                       run.job.checkpoint.resume_job.value_or("") + " " +
                                       std::to_string(number));
    if (!steps.empty()) text += (text.empty() ? "" : "; ") + steps;
  }
  if (origins.size() > 1) RefuseLosses(text + ": losses are not comparable", found);
}

// A sample of fewer tokens takes less time.
void WarnOfLength(const std::vector<Run>& runs, Comparability* found) {
  const std::string lengths = CutLengths(runs);
  if (lengths.empty()) return;
  found->losses = found->validation_losses = found->samples = false;
  Warn("rows are cut at different lengths (train.max_seq_length " + lengths +
           "): other tokens are trained on; losses, samples/s and speed-up are not comparable",
       kTimesAndLosses, found);
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
  found->times = false;
  Warn("runs shared a host's processors with other jobs (" + text +
           "): their times are not those of a host of their own; \"exclusive\": true in the job "
           "file gives a run its host to itself",
       kTimesAndDevice, found);
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
  found->times = false;
  Warn("a host's processors were saturated though no other job ran there (" + text +
           "): programs that are not the site's may have slowed the run; trainctl top shows who "
           "uses a host",
       kTimesAndDevice, found);
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

// Runs that traced as many of as many steps are slower alike.
void WarnOfTraces(const std::vector<Run>& runs, Comparability* found) {
  std::string text;
  std::set<std::pair<int64_t, int64_t>> shares;
  for (const Run& run : runs) {
    const int64_t traced = StepsTraced(run), steps = job::StepsTrained(run.metrics);
    shares.insert({traced, traced > 0 ? steps : 0});
    if (traced > 0)
      text += (text.empty() ? "" : "; ") + NameAndId(run) + " " + base::WithThousands(traced) +
              " of " + base::WithThousands(steps);
  }
  if (shares.size() < 2) return;
  Warn("some steps were traced (" + text +
           "): those are slower, and count in the run's time and rates",
       kTimes, found);
}

void WarnOfBatch(const std::vector<Run>& runs, Comparability* found) {
  const std::string rules = Differing(runs, LrScaling);
  if (!rules.empty()) {
    RefuseLosses(
        "the learning-rate rule differs (lr_scaling " + rules + "): losses are not comparable",
        found);
    return;
  }
  const std::string batches = Differing(runs, GlobalBatch);
  if (batches.empty() || LrScaling(runs.front()) == "linear") return;
  RefuseLosses("the global batch differs (" + batches +
                   ") without a learning-rate rule: fewer, larger steps at the same lr; set "
                   "optimizer.lr_scaling to \"linear\", or compare time and memory only",
               found);
}

void WarnOfInterruptions(const Run& run, Comparability* found) {
  if (run.attempts <= 1 && !run.preempted) return;
  const std::string what = run.preempted ? "was preempted" : "was restarted";
  Warn(NameAndId(run) + " " + what + " (" + std::to_string(run.attempts) +
           " attempts): its time is not that of one undisturbed run",
       kTimesAndDevice, found);
}

}  // namespace

Comparability ComparabilityOf(const std::vector<Run>& runs) {
  Comparability found;
  WarnOfAmount(runs, &found);
  WarnOfStepsBefore(runs, &found);
  WarnOfRevisions(runs, &found);
  WarnOfData(runs, &found);
  WarnOfSkippedRows(runs, &found);
  WarnOfValidation(runs, &found);
  WarnOfLength(runs, &found);
  WarnOfBatch(runs, &found);
  for (const Circumstance& circumstance : kCircumstances) {
    const std::string values =
        Differing(runs, [&](const Run& run) { return run.*circumstance.value; });
    if (!values.empty()) {
      Warn(std::string("the ") + circumstance.name + " differs (" + values +
               "): " + circumstance.consequence,
           circumstance.doubtful, &found);
    }
  }
  WarnOfSharing(runs, &found);
  WarnOfForeignLoad(runs, &found);
  WarnOfTraces(runs, &found);
  for (const Run& run : runs) WarnOfInterruptions(run, &found);
  for (const Run& run : runs) {
    if (run.state != job::JobState::kFinished) {
      Warn(NameAndId(run) + " has not finished: its numbers are of the run so far", kAll, &found);
    }
  }
  return found;
}

}  // namespace trainctl::compare
