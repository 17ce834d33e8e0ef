#include "common/estimate/run_time.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

#include "common/base/size.h"
#include "common/estimate/device_rates.h"
#include "common/estimate/step_time.h"
#include "common/job/device.h"
#include "common/job/run_plan.h"
#include "common/job/trains.h"

namespace trainctl::job {
namespace {

constexpr double kStartSeconds = 10;
constexpr double kLoadBytes = 2e9;  // a second
// What a process's first step takes beyond the others on GPUs, where kernels are loaded. Measured
// on an H200: 0.18 to 0.30 s, of a model of 0.2 million parameters and of TinyLlama.
constexpr double kFirstStepSeconds = 0.23;

// Beyond the others.
double FirstStepSeconds(std::string_view device_name) {
  return ThreadsOfCpuSlot(device_name) ? 0 : kFirstStepSeconds;
}

// Behind the first of those steps.
int64_t Evaluations(const JobSpec& job, const RunPlan& plan, int64_t first_step) {
  if (plan.split.val_rows == 0) return 0;
  const int64_t every = job.eval.every_steps.value_or(plan.total_steps);
  return plan.total_steps / every - first_step / every + (plan.total_steps % every == 0 ? 0 : 1);
}

TimeEstimate Whole(const JobSpec& job, const Inspection& inspection, const RunPlan& plan,
                   std::string_view device_name, double step_seconds, int64_t earlier_runs) {
  TimeEstimate estimate{.step_seconds = step_seconds,
                        .earlier_runs = earlier_runs,
                        .device_name = std::string(device_name),
                        .start_seconds = kStartSeconds,
                        .load_seconds = LoadedBytes(job, inspection.model) / kLoadBytes};
  const int64_t first_step = std::min(inspection.resume_step, plan.total_steps);
  estimate.training_seconds = step_seconds * static_cast<double>(plan.total_steps - first_step);
  if (first_step < plan.total_steps) estimate.training_seconds += FirstStepSeconds(device_name);
  const int64_t rows =
      std::min(plan.split.val_rows, job.eval.max_rows.value_or(plan.split.val_rows));
  const double rows_a_sequence =
      static_cast<double>(plan.split.train_rows) / static_cast<double>(plan.sequences);
  const double row_seconds =
      kForwardShare * step_seconds / (static_cast<double>(plan.batch.global) * rows_a_sequence);
  estimate.evaluation_seconds =
      static_cast<double>(Evaluations(job, plan, first_step) * rows) * row_seconds;
  estimate.total_seconds = estimate.start_seconds + estimate.load_seconds +
                           estimate.training_seconds + estimate.evaluation_seconds;
  return estimate;
}

// Of less than a minute with so many digits: "0.0861 s", "42 s", "20 min 30 s".
std::string SecondsText(double seconds, int digits) {
  if (seconds >= 60) return base::FormatDuration(std::llround(seconds));
  char text[32];
  std::snprintf(text, sizeof text, "%.*g s", digits, seconds);
  return text;
}

std::string RunsText(int64_t runs) {
  return runs == 1 ? "1 earlier run" : std::to_string(runs) + " earlier runs";
}

std::string StartText(const TimeEstimate& estimate) {
  const double seconds = estimate.start_seconds + estimate.load_seconds;
  if (seconds <= 0) return "";
  const std::string until = "; " + SecondsText(seconds, 2) + " until its first step, ";
  if (estimate.start_runs == 0) return until + "assumed";
  const char* of = estimate.start_source == StartSource::kAlike   ? ""
                   : estimate.start_source == StartSource::kModel ? " of this model"
                                                                  : " of other models";
  return until + "as in " + RunsText(estimate.start_runs) + of;
}

std::string TrainingText(const TimeEstimate& estimate) {
  return SecondsText(estimate.training_seconds, 2) + " of it training (" +
         (estimate.one_step ? "its first step: the job expects OOM"
                            : SecondsText(estimate.step_seconds, 3) + " a step") +
         ")";
}

// One that the total does not show is not worth words.
std::string EvaluationText(const TimeEstimate& estimate) {
  if (estimate.evaluation_seconds < 0.5) return "";
  return ", " + SecondsText(estimate.evaluation_seconds, 2) + " evaluation";
}

constexpr std::array<std::pair<StartSource, std::string_view>, 3> kSourceNames = {
    {{StartSource::kAlike, "alike"},
     {StartSource::kModel, "model"},
     {StartSource::kOtherModels, "other models"}}};

}  // namespace

std::string_view Name(StartSource source) {
  return std::ranges::find(kSourceNames, source, [](const auto& row) { return row.first; })->second;
}

std::optional<StartSource> ParseStartSource(std::string_view name) {
  for (const auto& [source, its_name] : kSourceNames) {
    if (its_name == name) return source;
  }
  return std::nullopt;
}

std::optional<TimeEstimate> EstimateTime(const JobSpec& asked, const Inspection& inspection,
                                         std::string_view device_name, bool holds_gradients) {
  const std::optional<DeviceRates> rates = RatesOf(device_name);
  const base::Result<RunPlan> plan = PlanRun(asked, CountedOf(inspection));
  if (!rates || !plan || !Trains(asked)) return std::nullopt;
  const StepSetting setting{.rates = *rates,
                            .is_cpu = device_name.starts_with("CPU"),
                            .holds_gradients = holds_gradients};
  TimeEstimate estimate =
      Whole(plan->job, inspection, *plan, device_name, StepSeconds(*plan, inspection, setting), 0);
  estimate.rates_step_seconds = estimate.step_seconds;
  return estimate;
}

std::optional<TimeEstimate> EstimateTimeFromRuns(const JobSpec& job, const Inspection& inspection,
                                                 const EarlierRuns& earlier) {
  const base::Result<RunPlan> plan = PlanRun(job, CountedOf(inspection));
  if (!plan || !Trains(job)) return std::nullopt;
  TimeEstimate estimate =
      Whole(plan->job, inspection, *plan, earlier.device_name, earlier.step_seconds, earlier.runs);
  estimate.device_watts = earlier.watts;
  estimate.disturbed = earlier.disturbed;
  return estimate;
}

void SetStep(double step_seconds, TimeEstimate* estimate) {
  if (estimate->step_seconds <= 0) return;
  const double factor = step_seconds / estimate->step_seconds;
  const double once = std::min(FirstStepSeconds(estimate->device_name), estimate->training_seconds);
  const double more_training = (factor - 1) * (estimate->training_seconds - once);
  const double more_evaluation = (factor - 1) * estimate->evaluation_seconds;
  estimate->step_seconds = step_seconds;
  estimate->training_seconds += more_training;
  estimate->evaluation_seconds += more_evaluation;
  estimate->total_seconds += more_training + more_evaluation;
}

void CountPower(const std::vector<DevicePower>& measured, TimeEstimate* estimate) {
  const auto found = std::ranges::find(measured, estimate->device_name, &DevicePower::device_name);
  if (!estimate->device_watts && found != measured.end()) estimate->device_watts = found->watts;
}

void CountStart(const EarlierStarts& measured, TimeEstimate* estimate) {
  const bool is_of_model = measured.source != StartSource::kOtherModels;
  const double load = is_of_model ? measured.load_seconds : estimate->load_seconds;
  estimate->total_seconds +=
      measured.start_seconds - estimate->start_seconds + load - estimate->load_seconds;
  estimate->start_seconds = measured.start_seconds;
  estimate->load_seconds = load;
  estimate->start_runs = measured.runs;
  estimate->start_source = measured.source;
}

std::string TimeText(const TimeEstimate& estimate) {
  const std::string source =
      estimate.earlier_runs == 0 ? "the rates" : RunsText(estimate.earlier_runs);
  return base::FormatDuration(std::llround(estimate.total_seconds)) + ", " +
         TrainingText(estimate) + EvaluationText(estimate) + ", predicted from " + source +
         (estimate.earlier_runs == 0 ? " of " : " on ") + estimate.device_name +
         (estimate.disturbed ? ", whose host others used too" : "") + StartText(estimate);
}

}  // namespace trainctl::job
