#include "worker/rank/train/step_profiler.h"

#include <c10/util/Exception.h>
#include <kineto/ActivityType.h>
#include <torch/csrc/autograd/profiler_kineto.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "common/base/saved_folder.h"
#include "common/rank/run_names.h"
#include "common/rank/step_kind.h"
#include "worker/rank/files/output_owner.h"
#include "worker/rank/profile/step_times.h"
#include "worker/rank/state/file_growth.h"

namespace trainctl::train {
namespace {

namespace kineto = torch::autograd::profiler;
using profile::Source;

constexpr double kSecondsPerNanosecond = 1e-9;

kineto::ProfilerConfig ConfigOfTrace() {
  return kineto::ProfilerConfig(kineto::ProfilerState::KINETO);
}

std::set<kineto::ActivityType> ActivitiesOf(at::Device device) {
  if (device.is_cpu()) return {kineto::ActivityType::CPU};
  return {kineto::ActivityType::CPU, kineto::ActivityType::CUDA};
}

std::optional<Source> SourceOf(const kineto::KinetoEvent& event) {
  switch (static_cast<libkineto::ActivityType>(event.activityType())) {
    case libkineto::ActivityType::USER_ANNOTATION: return Source::kRange;
    case libkineto::ActivityType::CPU_OP: return Source::kOperator;
    case libkineto::ActivityType::CUDA_RUNTIME:
    case libkineto::ActivityType::CUDA_DRIVER: return Source::kLaunch;
    case libkineto::ActivityType::CONCURRENT_KERNEL: return Source::kKernel;
    case libkineto::ActivityType::GPU_MEMCPY:
    case libkineto::ActivityType::GPU_MEMSET: return Source::kCopy;
    default: return std::nullopt;
  }
}

std::vector<profile::TraceEvent> EventsOf(const kineto::ProfilerResult& result) {
  std::vector<profile::TraceEvent> events;
  events.reserve(result.events().size());
  for (const kineto::KinetoEvent& event : result.events()) {
    const std::optional<Source> source = SourceOf(event);
    if (!source) continue;
    events.push_back({.source = *source,
                      .name = event.name(),
                      .begin = static_cast<int64_t>(event.startNs()),
                      .end = static_cast<int64_t>(event.endNs()),
                      .thread = event.startThreadId(),
                      .correlation = event.correlationId()});
  }
  return events;
}

// Kineto says nothing of a disk that was full.
bool IsWhole(const std::filesystem::path& trace) {
  std::ifstream file(trace, std::ios::binary | std::ios::ate);
  constexpr std::streamoff kEnd = 16;
  if (!file || file.tellg() < kEnd) return false;
  file.seekg(-kEnd, std::ios::end);
  std::string end(kEnd, ' ');
  file.read(end.data(), kEnd);
  const size_t last = end.find_last_not_of(" \n");
  return file && last != std::string::npos && end[last] == '}';
}

// Where Kineto writes what is to be at the path: beside it first.
std::vector<std::filesystem::path> DraftsOf(const std::filesystem::path& path) {
  return {path, job::Draft(path.string())};
}

}  // namespace

StepProfiler::StepProfiler(const RankContext& rank, const Run& run) : rank_(rank) {
  const job::ProfileSpec& asked = *rank.plan.job.profile;
  const int64_t passes = std::max<int64_t>(1, run.passes_per_step);
  const int64_t most = std::max<int64_t>(1, MostPasses(rank.device) / passes - 1);
  const int64_t steps = std::min({asked.steps, most, run.total_steps - run.first_step});
  begin_ = std::min(run.first_step + asked.skip, run.total_steps - steps);
  end_ = begin_ + steps;
  traced_begin_ = std::max(run.first_step, begin_ - 1);
  total_steps_ = run.total_steps;
}

void StepProfiler::PutOff(int64_t step) {
  if (!BeginsAt(step) || traced_begin_ == begin_) return;
  if (end_ < total_steps_) {
    ++begin_;
    ++end_;
  }
  ++traced_begin_;
}

void StepProfiler::Begin() {
  kineto::prepareProfiler(ConfigOfTrace(), ActivitiesOf(rank_.device));
  kineto::enableProfiler(ConfigOfTrace(), ActivitiesOf(rank_.device));
  is_running_ = true;
}

void StepProfiler::Tell(const std::string& text) {
  rank_.reporter.Send(job::RankNotice{"profile: " + text});
}

void StepProfiler::Report(const std::vector<profile::TraceEvent>& events) {
  const auto is_on_device = [](const auto& event) { return profile::IsOnDevice(event.source); };
  if (!rank_.device.is_cpu() && std::ranges::none_of(events, is_on_device))
    return Tell("the GPU's kernels could not be seen: CUPTI gave no records of them");
  const std::vector<profile::StepTimes> steps =
      profile::TimesOfSteps(events, rank_.plan.job.offload_optimizer);
  int64_t told = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    const int64_t step = traced_begin_ + static_cast<int64_t>(i);
    if (step < begin_) continue;
    ++told;
    const auto record = [&](job::Metric metric, int64_t nanoseconds) {
      rank_.reporter.Record(metric, step, static_cast<double>(nanoseconds) * kSecondsPerNanosecond);
    };
    record(job::Metric::kProfileStep, steps[i].end - steps[i].begin);
    for (size_t kind = 0; kind < job::kStepKinds; ++kind)
      record(job::kStepKindMetrics[kind], steps[i].kinds[kind]);
  }
  const int64_t asked = rank_.plan.job.profile->steps;
  if (told < asked && rank_.leads())
    Tell(std::to_string(told) + " of " + std::to_string(asked) +
         " steps, as no more came before the run's end, an evaluation or a checkpoint, or within " +
         std::to_string(MostPasses(rank_.device)) + " passes through a block of the model");
}

// Whole or not at all: it is written beside its place first.
void StepProfiler::WriteTrace(const std::function<void(const std::string& path)>& save) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(*rank_.plan.job.output.dir) / base::kProfileFolder;
  const fs::path path = folder / job::TraceFile(rank_.plan.rank);
  const fs::path draft = job::Draft(path.string());
  if (const base::Status free = files::CheckNoOtherOwnsOutput(rank_.plan); !free)
    return Tell("no trace is written: " + free.error().message);
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error) {
    const FileGrowth growth(DraftsOf(draft), [this](int64_t bytes) {
      rank_.reporter.Phase(job::RunPhase::kSaving, bytes);
    });
    save(draft.string());
  }
  if (!error && !IsWhole(draft)) error = std::make_error_code(std::errc::no_space_on_device);
  if (!error) fs::rename(draft, path, error);
  if (error) {
    std::error_code ignored;
    for (const fs::path& unfinished : DraftsOf(draft)) fs::remove(unfinished, ignored);
    return Tell("the trace could not be written to " + path.string() + ": " + error.message());
  }
  rank_.reporter.Saved("profile", path.string(), base::RecordSaved(path.string()));
}

void StepProfiler::End() {
  is_running_ = false;
  const std::unique_ptr<kineto::ProfilerResult> result = kineto::disableProfiler();
  const std::vector<profile::TraceEvent> events = EventsOf(*result);
  Report(events);
  if (!WritesTrace(rank_.plan.job)) return;
  rank_.reporter.Phase(job::RunPhase::kSaving);
  WriteTrace([&](const std::string& path) { result->save(path); });
  rank_.reporter.Phase(job::RunPhase::kTraining);
}

}  // namespace trainctl::train
