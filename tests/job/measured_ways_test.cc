// What advise would choose beside what was measured: of each training that was measured in several
// ways, the one that it puts first is nearly the fastest. Ways that nobody measured are passed
// over.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "common/advice/calibration.h"
#include "common/advice/way.h"
#include "common/estimate/predict_time.h"
#include "common/job/batch.h"
#include "common/job/check_job.h"
#include "tests/job/gib.h"
#include "tests/job/measured_times.h"

namespace trainctl::advice {
namespace {

using job::JobSpec;
using job::Measured;

constexpr double kSlower = 1.05;
constexpr int64_t kMostDevices = 4;

// What a way may change.
auto WayKey(const JobSpec& asked) {
  const JobSpec job = job::ResolveJob(asked);
  const int64_t micro = job::PlanBatch(job)->micro;
  const bool shards = job.strategy == job::StrategyKind::kFsdp;
  return std::tuple(job.devices, job.strategy, shards ? job.sharding : job::Sharding::kFull, micro,
                    job.activation_checkpointing, job.offload_optimizer);
}

// What is learned: all else that has to do with time or memory.
std::string TrainingKey(const JobSpec& asked) {
  const int64_t global = job::PlanBatch(asked)->global;
  JobSpec job;
  job.model.path = asked.model.path;
  job.precision = asked.precision;
  job.lora = asked.lora;
  job.quantize = asked.quantize;
  job.freeze = asked.freeze;
  job.optimizer.name = asked.optimizer.name;
  job.train.max_norm = asked.train.max_norm;
  job.train.max_seq_length = asked.train.max_seq_length;
  job.train.global_batch_size = global;
  return job::ToJson(job);
}

// On one kind of device.
std::map<std::string, std::vector<const Measured*>> Trainings() {
  std::map<std::string, std::vector<const Measured*>> trainings;
  for (const Measured& row : job::TimedRows())
    trainings[row.device + TrainingKey(job::JobOf(row))].push_back(&row);
  return trainings;
}

// All that fit.
std::vector<Way> WaysOf(const Measured& row) {
  Question question{.job = job::JobOf(row), .inspection = job::InspectionOf(row)};
  question.devices = kMostDevices;
  question.job.optimizer.lr_scaling = job::LrScaling::kNone;  // else the devices stay
  question.job.resources = {};
  question.device = {.kind = job::DeviceKind::kCuda,
                     .host = "h",
                     .name = row.device,
                     .memory_bytes = (row.device == job::kH200 ? 139 : 79) * job::kGiB,
                     .compute_capability = "9.0"};
  base::Result<Ways> ways = FindWays(question);
  EXPECT_TRUE(ways.ok()) << row.id << ": " << ways.error().message;
  return ways.ok() ? std::move(ways->fitting) : std::vector<Way>();
}

TEST(MeasuredWays, TheFirstOfThemIsNearlyTheFastest) {
  size_t compared = 0;
  for (const auto& [training, rows] : Trainings()) {
    const double fastest =
        (*std::ranges::min_element(rows, {}, &Measured::step_seconds))->step_seconds;
    std::vector<decltype(WayKey({}))> keys;
    for (const Measured* row : rows) keys.push_back(WayKey(job::JobOf(*row)));
    for (const Measured* asked : rows) {
      std::vector<Way> measured = WaysOf(*asked);
      const auto place_of = [&](const Way& way) {
        return std::ranges::find(keys, WayKey(way.job));
      };
      std::erase_if(measured, [&](const Way& way) {
        return place_of(way) == keys.end() || way.job.resources.gpu_memory_limit_bytes;
      });
      ASSERT_FALSE(measured.empty()) << asked->id << ": the way itself is none";
      const std::vector<Way> shown = ParetoFront(std::move(measured));
      ASSERT_FALSE(shown.empty()) << asked->id;
      const Measured* first = rows[static_cast<size_t>(place_of(shown[0]) - keys.begin())];
      EXPECT_LE(first->step_seconds, kSlower * fastest)
          << "of " << asked->id << " advise puts " << first->id << " first";
    }
    if (rows.size() > 1) compared += rows.size();
  }
  RecordProperty("rows_with_other_ways", static_cast<int>(compared));
  EXPECT_GE(compared, 20u);
}

// With a time from rates, or as it was measured.
Way WayOf(const Measured& row, bool measured) {
  const JobSpec job = job::JobOf(row);
  job::EarlierTimes earlier;
  if (measured) {
    earlier.runs = {{.device_name = row.device, .step_seconds = row.step_seconds, .runs = 1}};
  }
  Way way{.job = job::ResolveJob(job)};
  way.time =
      job::PredictTime(job, job::InspectionOf(row), row.device, row.holds_gradients, earlier);
  return way;
}

// The logarithm of the factor by which it is off.
double ErrorOf(double step_seconds, const Measured& row) {
  return std::abs(std::log(step_seconds / row.step_seconds));
}

TEST(MeasuredWays, AWayIsPredictedBetterWhereItsSiblingsWereMeasured) {
  double by_rates = 0, scaled = 0;
  size_t ways = 0;
  for (const auto& [training, rows] : Trainings()) {
    if (rows.size() < 2) continue;
    for (const Measured* held_out : rows) {
      Ways found{.asked = WayOf(*held_out, false)};
      for (const Measured* sibling : rows) {
        if (sibling != held_out) found.fitting.push_back(WayOf(*sibling, true));
      }
      by_rates += ErrorOf(found.asked.time->step_seconds, *held_out);
      Calibrate(&found);
      scaled += ErrorOf(found.asked.time->step_seconds, *held_out);
      ++ways;
    }
  }
  EXPECT_LT(scaled, 0.9 * by_rates) << "sums of " << ways << " ways";
}

}  // namespace
}  // namespace trainctl::advice
