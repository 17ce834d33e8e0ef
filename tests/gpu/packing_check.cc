// On a GPU: loss and every gradient of packed rows beside those of the same rows padded. It runs in
// fp32 and bf16, by both engines. Both are compared with the plain engine in fp32 on the CPU, of
// padded rows. Shapes cover equal and grouped heads, head_dim 64, 80, 100, 128; rotary and learned
// positions; norms of heads, windows, LoRA, activation checkpointing. Exit status 77 if there is no
// GPU.
//
//   deploy/build gpu_packing_check && build/bin/gpu_packing_check
#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/engine/held_parameters.h"
#include "worker/rank/model/model.h"
#include "worker/rank/ops/fused_kernels.h"
#include "worker/rank/train/micro_batches.h"

namespace trainctl::gpu_check {
namespace {

constexpr int64_t kLength = 512, kRows = 40;
constexpr double kFp32 = 2e-4, kBf16 = 4e-2;
constexpr double kRelu32 = 1e-2, kRelu16 = 0.12;  // see engine_check.cc

struct Case {
  const char* name;
  job::ModelShape shape;
  model::ModelOptions options = {};
};

job::ModelShape Shape(int64_t heads, int64_t kv_heads, int64_t head_dim) {
  return {.layers = 2,
          .hidden = 512,
          .intermediate = 1032,
          .heads = heads,
          .kv_heads = kv_heads,
          .head_dim = head_dim,
          .vocab = 1000,
          .max_positions = 512,
          .tied_head = true};
}

std::vector<Case> Cases() {
  job::ModelShape opt = Shape(8, 8, 80), norms = Shape(4, 2, 128), window = Shape(8, 2, 64),
                  wide = Shape(4, 4, 128), some = Shape(4, 4, 100);
  opt.family = "opt";
  opt.hidden = 640;
  norms.head_norms = true;
  window.sliding_window = 40;
  wide.sliding_window = 128;
  some.sliding_window = 17;
  some.full_layers = {1};
  const job::LoraSpec lora{.r = 8, .dropout = 0, .targets = {}};
  return {{"head_dim 128", Shape(4, 4, 128)},
          {"head_dim 64, grouped", Shape(8, 2, 64)},
          {"head_dim 100", Shape(4, 4, 100)},
          {"head_dim 100, grouped", Shape(4, 2, 100)},
          {"norms of heads (Qwen 3)", norms},
          {"OPT, head_dim 80", opt},
          {"window of 40, grouped", window},
          {"window of 128, head_dim 128", wide},
          {"window in one layer", some},
          {"LoRA", Shape(8, 2, 64), {.lora = lora}},
          {"activation checkpointing", Shape(8, 8, 64), {.checkpoint_every = 1}}};
}

data::Dataset Rows() {
  std::mt19937 random(3);
  data::Dataset dataset;
  std::vector<int32_t> tokens;
  for (int64_t row = 0; row < kRows; ++row) {
    const int64_t length = 1 + static_cast<int64_t>(random() % (row == 0 ? 500 : 150));
    dataset.rows.push_back({std::ssize(tokens), length, row % 3 == 0 ? length / 2 : 0});
    dataset.train.push_back(row);
    for (int64_t t = 0; t < length; ++t) tokens.push_back(static_cast<int32_t>(random() % 1000));
  }
  dataset.tokens = data::TokenStore(std::move(tokens));
  dataset.max_seq_length = kLength;
  return dataset;
}

struct Setting {
  at::Device device;
  at::ScalarType type;
  bool packing;
  bool fused;
  bool deterministic = false;
};

struct Gradients {
  double loss = 0;
  std::vector<at::Tensor> params;  // of the trainable ones, fp32, on the CPU
};

Gradients Compute(const Case& c, const std::vector<at::Tensor>& weights,
                  const data::Dataset& dataset, const Setting& s) {
  model::ModelOptions options = c.options;
  options.device = s.device;
  options.max_length = kLength;
  const auto model = std::move(model::MakeModel(c.shape, options).value());
  std::vector<at::Tensor> local;
  std::set<ops::ParamId> frozen;
  for (size_t i = 0; i < weights.size(); ++i) {
    local.push_back(weights[i].to(s.device, s.type));
    if (!model->parameters().params[i].trainable) frozen.insert(static_cast<ops::ParamId>(i));
  }
  engine_test::HeldParameters parameters(local, frozen);
  const int64_t global = s.packing ? data::PackTraining(dataset, 5).size() : kRows;
  train::MicroBatches batches(dataset,
                              {.micro = global, .devices = 1, .accumulation = 1, .global = global},
                              {.seed = 5, .packing = s.packing}, 0, s.device);
  const at::Tensor sum = at::zeros({}, at::TensorOptions().device(s.device).dtype(at::kDouble));
  const auto tokens = static_cast<double>(batches.Counts(0).trained_tokens);
  model::MicroBatch batch = batches.Training(0, 0);
  batch.loss_sum = sum;
  batch.grad_scale = 1 / tokens;
  ops::Tape tape(true);
  ops::Context context{tape, parameters, s.fused ? ops::FusedKernels() : ops::AtenKernels(),
                       c.shape.norm_eps, s.deterministic};
  model->Loss(context, batch);
  tape.Backward();
  Gradients result{.loss = sum.item<double>() / tokens};
  for (ops::ParamId param = 0; param < static_cast<ops::ParamId>(weights.size()); ++param) {
    if (!frozen.contains(param))
      result.params.push_back(parameters.grad(param).to(at::kCPU, at::kFloat));
  }
  return result;
}

// The largest relative error of the loss and of each gradient; one that is nothing but rounding is
// measured by the largest.
double Error(const Gradients& actual, const Gradients& expected) {
  double worst = std::abs(actual.loss - expected.loss) / expected.loss, largest = 0;
  for (const at::Tensor& grad : expected.params)
    largest = std::max(largest, grad.norm().item<double>());
  for (size_t i = 0; i < expected.params.size(); ++i) {
    if (!at::isfinite(actual.params[i]).all().item<bool>()) return INFINITY;
    const double size = expected.params[i].norm().item<double>();
    worst = std::max(worst, (actual.params[i] - expected.params[i]).norm().item<double>() /
                                (size < 1e-5 * largest ? largest : size));
  }
  return worst;
}

bool Equal(const Gradients& a, const Gradients& b) {
  for (size_t i = 0; i < a.params.size(); ++i) {
    if (!at::equal(a.params[i], b.params[i])) return false;
  }
  return a.loss == b.loss;
}

bool CheckCase(const Case& c) {
  at::manual_seed(5);
  const auto model = std::move(model::MakeModel(c.shape, c.options).value());
  std::vector<at::Tensor> weights, rounded;
  for (const ops::ParamSpec& spec : model->parameters().params) {
    weights.push_back(spec.init == ops::Init::kOnes ? at::randn(spec.shape).mul_(0.1).add_(1)
                                                    : at::randn(spec.shape).mul_(0.05));
    rounded.push_back(weights.back().to(at::kBFloat16).to(at::kFloat));
  }
  const data::Dataset dataset = Rows();
  const at::Device gpu(at::kCUDA, 0);
  bool good = true;
  const auto check = [&](const char* name, at::ScalarType type, bool fused, double tolerance) {
    const Gradients exact = Compute(c, type == at::kFloat ? weights : rounded, dataset,
                                    {at::kCPU, at::kFloat, /*packing=*/false, /*fused=*/false});
    const Gradients padded = Compute(c, weights, dataset, {gpu, type, false, fused});
    const Gradients packed = Compute(c, weights, dataset, {gpu, type, true, fused});
    const double of_packed = Error(packed, exact), of_padded = Error(padded, exact);
    const bool is_good = of_packed <= tolerance && of_packed <= 2 * of_padded + kFp32;
    good = is_good && good;
    std::printf(
        "%-28s %-16s loss %.6f packed, %.6f padded, %.6f exact; worst error %.2e packed, %.2e "
        "padded, %.2e between them  %s\n",
        c.name, name, packed.loss, padded.loss, exact.loss, of_packed, of_padded,
        Error(packed, padded), is_good ? "ok" : "BEYOND TOLERANCE");
  };
  const bool is_opt = c.shape.family == "opt";
  check("reference fp32", at::kFloat, false, is_opt ? kRelu32 : kFp32);
  check("fused fp32", at::kFloat, true, is_opt ? kRelu32 : kFp32);
  check("fused bf16", at::kBFloat16, true, is_opt ? kRelu16 : kBf16);
  at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/false);
  const Setting deterministic{gpu, at::kBFloat16, true, true, true};
  if (!Equal(Compute(c, weights, dataset, deterministic),
             Compute(c, weights, dataset, deterministic))) {
    std::printf("%-28s deterministic: two runs differ\n", c.name);
    good = false;
  }
  at::globalContext().setDeterministicAlgorithms(false, false);
  return good;
}

int Main() {
  int gpus = 0;
  if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) {
    std::printf("no GPU here\n");
    return 77;
  }
  const c10::NoGradGuard no_grad;
  bool good = true;
  for (const Case& c : Cases()) good = CheckCase(c) && good;
  return good ? 0 : 1;
}

}  // namespace
}  // namespace trainctl::gpu_check

int main() { return trainctl::gpu_check::Main(); }
