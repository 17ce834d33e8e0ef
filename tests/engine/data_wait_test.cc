// data_wait_seconds, recomputed: a reader that takes a known time, by a clock that nobody else
// moves.
#include <ATen/ops/full.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <sstream>
#include <string>

#include "common/rank/rank_json.h"
#include "worker/rank/train/trainer.h"

namespace trainctl::train {
namespace {

constexpr int64_t kSteps = 3;
constexpr job::BatchPlan kTwoMicroSteps{.micro = 2, .devices = 1, .accumulation = 2, .global = 4};

int64_t ReadMicros(int64_t step, int64_t micro_step) {
  return 250'000 * (1 + 3 * step + micro_step);
}

class SlowBatches : public MicroBatches {
 public:
  SlowBatches(const data::Dataset& dataset, base::FakeClock& clock)
      : MicroBatches(dataset, kTwoMicroSteps, {.seed = 3}, /*rank=*/0, at::kCPU), clock_(clock) {}

  model::MicroBatch Training(int64_t step, int64_t micro_step) override {
    clock_.Advance(ReadMicros(step, micro_step));
    return MicroBatches::Training(step, micro_step);
  }

 private:
  base::FakeClock& clock_;
};

data::Dataset Rows() {
  data::Dataset dataset;
  dataset.tokens = data::TokenStore(std::vector<int32_t>(8, 1));
  dataset.rows = {{.begin = 0, .length = 8, .ignored = 0}};
  dataset.train.assign(kSteps * kTwoMicroSteps.global, 0);
  dataset.max_seq_length = dataset.longest_row = dataset.total_tokens = 8;
  return dataset;
}

job::ModelShape Shape() {
  return {.layers = 1,
          .hidden = 16,
          .intermediate = 24,
          .heads = 2,
          .kv_heads = 1,
          .head_dim = 8,
          .vocab = 40,
          .max_positions = 64};
}

// {step: value}, of what the rank has told.
std::map<int64_t, double> Told(std::FILE* messages, const std::string& metric) {
  std::rewind(messages);
  std::string text;
  for (int c; (c = std::fgetc(messages)) != EOF;) text += static_cast<char>(c);
  std::istringstream lines(text);
  std::map<int64_t, double> values;
  for (std::string line; std::getline(lines, line);) {
    const auto message = job::RankMessageFromLine(line);
    EXPECT_TRUE(message.ok()) << line;
    const auto* metrics = message ? std::get_if<job::RankMetrics>(&*message) : nullptr;
    if (metrics == nullptr) continue;
    for (const job::MetricPoint& point : metrics->points) {
      if (point.name == metric) values[point.step] = point.value;
    }
  }
  return values;
}

void Fill(const ops::ParameterTable& table, strategy::Strategy* strategy) {
  for (size_t param = 0; param < table.params.size(); ++param) {
    const ops::ParamSpec& spec = table.params[param];
    const at::Tensor values = at::full(spec.shape, 0.01, at::kFloat);
    for (const ops::ParamPiece& piece : spec.pieces)
      strategy->SetRows(static_cast<ops::ParamId>(param), piece.row,
                        values.narrow(0, piece.row, piece.rows));
  }
  strategy->FinishLoading();
}

TEST(DataWait, IsWhatTheReaderTakesInTheMicroStepsOfAStepAndNothingElse) {
  const c10::NoGradGuard no_grad;
  job::RankPlan plan;
  plan.job.strategy = job::StrategyKind::kSingle;
  const RankDevice device = std::move(RankDevice::Open(plan).value());
  const auto model = std::move(model::MakeModel(Shape(), {.max_length = 8}).value());
  const auto comm = comm::Join({.rank = 0, .world_size = 1});
  RunState state;
  state.strategy = strategy::MakeStrategy(
      model->parameters(),
      {.job = plan.job, .accumulation = kTwoMicroSteps.accumulation, .comm = comm.get()});
  Fill(model->parameters(), state.strategy.get());
  const data::Dataset dataset = Rows();
  base::FakeClock clock;
  SlowBatches batches(dataset, clock);
  WaitMeter waits(at::kCPU);
  const Commands commands(-1);
  std::FILE* messages = std::tmpfile();
  {
    const base::SystemClock wall;  // its thread reads it
    Reporter reporter(fileno(messages), wall, /*rank=*/0);
    Trainer trainer({.plan = plan,
                     .batch = kTwoMicroSteps,
                     .device = device,
                     .model = *model,
                     .kernels = ops::AtenKernels(),
                     .strategy = *state.strategy,
                     .comm = *comm,
                     .waits = waits,
                     .batches = batches,
                     .reporter = reporter,
                     .commands = commands,
                     .clock = clock,
                     .state = state,
                     .on_micro_step = [&](int64_t) { clock.Advance(60'000'000); }},
                    kSteps);
    EXPECT_EQ(trainer.Run(), TrainingEnd::kFinished);
  }
  std::map<int64_t, double> expected;
  for (int64_t step = 0; step < kSteps; ++step)
    expected[step] = static_cast<double>(ReadMicros(step, 0) + ReadMicros(step, 1)) / 1e6;
  EXPECT_EQ(Told(messages, "data_wait_seconds"), expected);
  std::fclose(messages);
}

}  // namespace
}  // namespace trainctl::train
