#include "common/advice/calibration.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace trainctl::advice {
namespace {

using job::JobSpec;

constexpr double kEqual = 1e-9;  // distances are sums of logarithms

double Doublings(int64_t left, int64_t right) {
  if (left <= 0 || right <= 0) return left == right ? 0 : 1;
  return std::abs(std::log2(static_cast<double>(left) / static_cast<double>(right)));
}

int64_t MicroBatch(const JobSpec& job) { return job.train.micro_batch_size.value_or(0); }

// What variants.cc changes.
double Distance(const JobSpec& left, const JobSpec& right) {
  const auto changed = [&](auto setting) { return setting(left) == setting(right) ? 0 : 1; };
  return Doublings(left.devices, right.devices) + Doublings(MicroBatch(left), MicroBatch(right)) +
         changed([](const JobSpec& job) { return std::pair(job.strategy, job.sharding); }) +
         changed([](const JobSpec& job) { return job.activation_checkpointing; }) +
         changed([](const JobSpec& job) { return job.offload_optimizer; }) +
         changed([](const JobSpec& job) { return std::pair(job.lora.has_value(), job.quantize); }) +
         changed([](const JobSpec& job) { return job.precision; }) +
         changed([](const JobSpec& job) { return job.optimizer.name; }) +
         changed([](const JobSpec& job) { return job.resources.gpu_memory_limit_bytes; });
}

// A way that ran, and how much longer than rates say.
struct Calibrator {
  const JobSpec* job;
  double ratio;
};

bool HasRates(const Way& way) { return way.time && way.time->rates_step_seconds.value_or(0) > 0; }

// The way as asked is one of those that fit too: it counts once.
std::vector<Calibrator> CalibratorsOf(const Ways& ways) {
  std::vector<Calibrator> found;
  const auto add = [&found](const Way& way) {
    if (!way.is_measured() || !HasRates(way) || way.time->step_seconds <= 0) return;
    const bool is_known = std::ranges::any_of(
        found, [&way](const Calibrator& other) { return Distance(*other.job, way.job) < kEqual; });
    if (!is_known)
      found.push_back({&way.job, way.time->step_seconds / *way.time->rates_step_seconds});
  };
  add(ways.asked);
  for (const Way& way : ways.fitting) add(way);
  return found;
}

// 1: none ran.
double FactorOf(const Way& way, const std::vector<Calibrator>& calibrators) {
  double nearest = std::numeric_limits<double>::infinity(), logarithms = 0;
  int64_t as_near = 0;
  for (const Calibrator& other : calibrators) {
    const double distance = Distance(*other.job, way.job);
    if (distance > nearest + kEqual) continue;
    if (distance < nearest - kEqual) logarithms = as_near = 0;
    nearest = std::min(nearest, distance);
    logarithms += std::log(other.ratio);
    ++as_near;
  }
  return as_near == 0 ? 1 : std::exp(logarithms / static_cast<double>(as_near));
}

void Scale(const std::vector<Calibrator>& calibrators, Way* way) {
  if (!HasRates(*way) || way->is_measured()) return;
  const double factor = FactorOf(*way, calibrators);
  job::TimeEstimate scaled = *way->time;
  job::SetStep(factor * *scaled.rates_step_seconds, &scaled);
  scaled.earlier_runs = 0;
  scaled.disturbed = false;
  if (way->time->disturbed) {
    if (scaled.total_seconds >= way->time->total_seconds) return;
    way->slowed = std::move(way->time);
  }
  way->time = std::move(scaled);
  way->rates_factor = factor;
}

}  // namespace

void Calibrate(Ways* ways) {
  const std::vector<Calibrator> calibrators = CalibratorsOf(*ways);
  Scale(calibrators, &ways->asked);
  for (Way& way : ways->fitting) Scale(calibrators, &way);
}

}  // namespace trainctl::advice
