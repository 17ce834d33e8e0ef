#include "worker/rank/train/trial.h"

#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "common/base/size.h"
#include "worker/rank/state/tensor_piece.h"
#include "worker/rank/train/engine.h"
#include "worker/rank/train/micro_batches.h"
#include "worker/rank/train/trainer.h"

namespace trainctl::train {
namespace {

constexpr int64_t kSteps = 1;
constexpr int64_t kMostAccumulation =
    2;  // from there on each micro step holds what the one before held
constexpr double kAnyWeight = 0.01;

job::BatchPlan TrialBatch(const job::BatchPlan& batch) {
  job::BatchPlan trial = batch;
  trial.accumulation = std::min(batch.accumulation, kMostAccumulation);
  trial.global = trial.micro * trial.devices * trial.accumulation;
  return trial;
}

// The longest sequence's rows; without packing the longest row that trains.
std::vector<int64_t> Longest(const data::Dataset& dataset, const RowOrder& order) {
  const auto row = std::ranges::max_element(
      dataset.train, {}, [&](int64_t index) { return dataset.rows[index].length; });
  std::vector<int64_t> longest{*row};
  if (!order.packing) return longest;
  const data::PackedRows packed = data::PackTraining(dataset, order.seed);
  for (int64_t i = 0; i < packed.size(); ++i) {
    if (data::LengthOf(dataset, packed[i]) > data::LengthOf(dataset, longest))
      longest.assign(packed[i].begin(), packed[i].end());
  }
  return longest;
}

// As many copies of the longest row or sequence as the trial's steps take, all of whose tokens are
// trained.
data::Dataset WorstCase(const data::Dataset& dataset, const job::BatchPlan& batch,
                        const RowOrder& order) {
  std::vector<int32_t> tokens;
  for (const int64_t index : Longest(dataset, order)) {
    const data::Row& row = dataset.rows[index];
    for (int64_t t = 0; t < row.length; ++t)
      tokens.push_back(static_cast<int32_t>(dataset.tokens[row.begin + t]));
  }
  const int64_t length = std::ssize(tokens);
  data::Dataset worst;
  worst.tokens = data::TokenStore(std::move(tokens));
  worst.rows = {{.begin = 0, .length = length, .ignored = 0}};
  worst.train.assign(static_cast<size_t>(kSteps * batch.global), 0);
  worst.max_seq_length = dataset.max_seq_length;
  worst.longest_row = worst.total_tokens = length;
  return worst;
}

// Weights have their memory from the start, but for quantized ones: those only once they have a
// value.
void FillQuantized(const ops::ParameterTable& table, at::Device device,
                   strategy::Strategy& strategy) {
  for (size_t param = 0; param < table.params.size(); ++param) {
    const ops::ParamSpec& spec = table.params[param];
    if (!spec.quantized) continue;
    for (const ops::ParamPiece& piece : spec.pieces) {
      const at::Tensor values = at::full(PieceShape(spec, piece), kAnyWeight,
                                         at::TensorOptions().device(device).dtype(at::kFloat));
      strategy.SetRows(static_cast<ops::ParamId>(param), piece.row, values);
    }
  }
  strategy.FinishLoading();
}

// The trainer's own step. A step's results are summed over all ranks: who has the sum knows that
// all have done it.
void RunStep(const RankContext& rank, const TrialParts& parts, const job::BatchPlan& batch,
             strategy::Strategy& strategy) {
  const RowOrder order{.seed = rank.plan.job.data.seed, .packing = rank.plan.job.train.packing};
  const data::Dataset worst = WorstCase(parts.dataset, batch, order);
  MicroBatches batches(worst, batch, order, rank.plan.rank, rank.device, parts.picture_side);
  Reporter silent(/*fd=*/-1, rank.clock, rank.plan.rank);
  WaitMeter waits(rank.device);  // nobody is told of them either
  Trainer trainer({.plan = rank.plan,
                   .batch = batch,
                   .device = parts.device,
                   .model = parts.model,
                   .kernels = KernelsFor(rank.plan.job.engine, rank.device),
                   .strategy = strategy,
                   .comm = rank.comm,
                   .waits = waits,
                   .batches = batches,
                   .reporter = silent,
                   .commands = parts.commands,
                   .clock = rank.clock,
                   .state = parts.state,
                   .on_micro_step =
                       [&](int64_t done) {
                         rank.reporter.Phase(job::RunPhase::kTrial, done, batch.accumulation);
                       }},
                  kSteps);
  trainer.Run();
  parts.device.Synchronize();
}

// No rank reads another's weights any more (comm/peer_shards.h): their memory may go.
void MeetAll(const RankContext& rank, const RankDevice& device) {
  rank.comm.Wait(
      rank.comm.AllReduce(at::zeros({}, at::TensorOptions().device(rank.device).dtype(at::kLong))));
  device.Synchronize();
}

void Report(const RankContext& rank, const TrialParts& parts, double seconds) {
  char time[32];
  std::snprintf(time, sizeof time, "%.1f s", seconds);
  const int64_t limit = parts.device.limit_bytes();
  const std::string text = "trial of micro batch " + std::to_string(parts.batch.micro) + ": peak " +
                           base::FormatBytes(parts.device.Memory().peak_bytes) +
                           (limit > 0 ? " of " + base::FormatBytes(limit) : "") + " allocated, " +
                           time;
  rank.reporter.Send(job::RankNotice{text});
  rank.reporter.Record(job::Metric::kTrialSeconds, 0, seconds);
}

}  // namespace

double TryMicroBatch(const RankContext& rank, const TrialParts& parts) {
  const base::SteadyMicros begin = rank.clock.Steady();
  const job::BatchPlan batch = TrialBatch(parts.batch);
  strategy::Strategy& strategy =
      MakeRankStrategy(rank, parts.model, parts.device, batch.accumulation, parts.state);
  FillQuantized(parts.model.parameters(), rank.device, strategy);
  rank.reporter.Phase(job::RunPhase::kTrial, 0, batch.accumulation);
  parts.state.phase.in_trial = true;
  RunStep(rank, parts, batch, strategy);
  const double seconds = static_cast<double>(rank.clock.Steady() - begin) / 1e6;
  if (rank.leads()) Report(rank, parts, seconds);
  parts.state = {};
  MeetAll(rank, parts.device);
  parts.device.ReleaseCached();
  parts.device.ResetPeak();
  rank.reporter.Phase(job::RunPhase::kLoading);
  return seconds;
}

}  // namespace trainctl::train
