// On a GPU: loss and every gradient of small LLaMAs, OPTs and BLIP-2s, by both engines and in every
// precision. They are compared with the plain engine in fp32 on the CPU. Shapes cover each
// attention backend: equal and grouped heads, head_dim 64, 100, 128. They cover packed and separate
// matrices, tied and untied heads, biases, norms of heads and scaled rotation; windows that rows
// reach beyond; dropout of the model's and of LoRA's, whose masks are the same everywhere. Exit
// status 77 if there is no GPU.
#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/engine/held_parameters.h"
#include "worker/rank/model/model.h"
#include "worker/rank/ops/fused_kernels.h"

namespace trainctl::gpu_check {
namespace {

constexpr int64_t kRows = 3, kLength = 192;

// ReLU's signs may differ where its input is near zero. In fp32 each such sign is one of N active
// ones, and moves a gradient by about N^-1/2, here 2e-3. In bf16 torch's own gradients are 0.07 to
// 0.085 from its fp32.
struct Tolerance {
  double fp32, bf16;
};
constexpr Tolerance kSmooth{1e-4, 4e-2}, kRelu{1e-2, 0.12};
// A picture's gradients pass three networks: the plain engine on a CPU has 0.08 to 0.12 in bf16.
constexpr Tolerance kPictures{1e-2, 0.16};

struct Case {
  const char* name;
  job::ModelShape shape;
  std::optional<job::LoraSpec> lora = {};

  const Tolerance& tolerance() const {
    return shape.image ? kPictures : shape.family == "opt" ? kRelu : kSmooth;
  }
};

job::ModelShape Shape(int64_t hidden, int64_t heads, int64_t kv_heads, int64_t head_dim,
                      int64_t vocab, bool tied) {
  return {.layers = 2,
          .hidden = hidden,
          .intermediate = 2 * hidden + 8,
          .heads = heads,
          .kv_heads = kv_heads,
          .head_dim = head_dim,
          .vocab = vocab,
          .max_positions = 512,
          .tied_head = tied};
}

job::ModelShape WithBiases(job::ModelShape shape) {
  shape.qkv_bias = shape.out_bias = shape.mlp_bias = true;
  return shape;
}

job::ModelShape WithHeadNorms(job::ModelShape shape) {
  shape.head_norms = true;
  return shape;
}

job::ModelShape WithLongRows(job::ModelShape shape) {
  shape.rope_scaling =
      job::RopeScaling{.type = job::RopeType::kLlama3, .factor = 8, .original_positions = 64};
  return shape;
}

// full: layers without the window.
job::ModelShape WithWindow(job::ModelShape shape, int64_t window, std::vector<int64_t> full = {}) {
  shape.sliding_window = window;
  shape.full_layers = std::move(full);
  return shape;
}

// Rows are longer than max_positions.
job::ModelShape WithDynamicRotation(job::ModelShape shape) {
  shape.max_positions = kLength / 3;
  shape.rope_scaling = job::RopeScaling{.type = job::RopeType::kDynamic, .factor = 4};
  return shape;
}

job::ModelShape AsOpt(job::ModelShape shape, double dropout) {
  shape.family = "opt";
  shape.dropout = dropout;
  return shape;
}

// Before an OPT: heads of 88, as in ViT-g, and a Q-Former that sees the picture in every second
// layer.
job::ModelShape WithPictures(job::ModelShape shape, double dropout) {
  shape = AsOpt(std::move(shape), dropout);
  shape.family = "blip-2";
  shape.image = job::ImageShape{.side = 56,
                                .patch = 14,
                                .token = shape.vocab - 1,
                                .vision_layers = 2,
                                .vision_hidden = 352,
                                .vision_intermediate = 704,
                                .vision_heads = 4,
                                .queries = 32,
                                .qformer_layers = 3,
                                .qformer_hidden = 256,
                                .qformer_intermediate = 512,
                                .qformer_heads = 4,
                                .qformer_dropout = dropout,
                                .qformer_attention_dropout = dropout};
  return shape;
}

const std::vector<Case>& Cases() {
  static const std::vector<Case> cases = {
      {"head_dim 128", Shape(512, 4, 4, 128, 1000, false)},
      {"head_dim 64, grouped", Shape(512, 8, 2, 64, 1000, false)},
      {"head_dim 100", Shape(400, 4, 4, 100, 1000, false)},
      {"head_dim 100, grouped, odd vocabulary", Shape(400, 4, 2, 100, 1003, false)},
      {"tied head", Shape(576, 9, 3, 64, 2048, true)},
      {"separate matrices", Shape(360, 3, 1, 120, 777, false)},
      {"LoRA", Shape(512, 4, 4, 128, 1000, false),
       job::LoraSpec{.r = 16, .alpha = 32, .dropout = 0.1, .targets = {}}},
      {"LoRA of some matrices, no dropout", Shape(512, 8, 2, 64, 1000, true),
       job::LoraSpec{.r = 8, .dropout = 0, .targets = {"q", "v", "up"}}},
      {"biases (Qwen 2)", WithBiases(Shape(512, 8, 2, 64, 1000, true))},
      {"biases, separate matrices", WithBiases(Shape(360, 3, 1, 120, 777, false))},
      {"norms of heads (Qwen 3)", WithHeadNorms(Shape(256, 4, 2, 128, 1000, true))},
      {"norms of heads, head_dim 100", WithHeadNorms(Shape(400, 4, 4, 100, 1000, false))},
      {"scaled rotation (Llama 3)", WithLongRows(Shape(512, 8, 2, 64, 1000, true))},
      {"window of 50, head_dim 128 (Mistral)", WithWindow(Shape(512, 4, 4, 128, 1000, false), 50)},
      {"window of 64, grouped, head_dim 64", WithWindow(Shape(512, 8, 2, 64, 1000, false), 64)},
      {"window of 129, head_dim 128, grouped", WithWindow(Shape(512, 4, 2, 128, 1000, false), 129)},
      {"window of 7, head_dim 100", WithWindow(Shape(400, 4, 4, 100, 1000, false), 7)},
      {"window of 1, head_dim 120", WithWindow(Shape(360, 3, 1, 120, 777, false), 1)},
      {"window in one of two layers (Qwen 2)",
       WithBiases(WithWindow(Shape(512, 8, 2, 64, 1000, true), 33, {0}))},
      {"LoRA beside a window", WithWindow(Shape(512, 8, 2, 64, 1000, true), 50),
       job::LoraSpec{.r = 8, .dropout = 0.1, .targets = {}}},
      {"dynamic rotation", WithDynamicRotation(Shape(512, 8, 2, 64, 1000, true))},
      {"LoRA beside biases", WithBiases(Shape(512, 8, 2, 64, 1000, true)),
       job::LoraSpec{.r = 8, .dropout = 0.1, .targets = {}}},
      {"LoRA beside norms of heads", WithHeadNorms(Shape(256, 4, 2, 128, 1000, false)),
       job::LoraSpec{.r = 8, .dropout = 0.1, .targets = {}}},
      {"OPT, head_dim 80", AsOpt(Shape(640, 8, 8, 80, 1000, true), 0)},
      {"OPT with dropout, untied", AsOpt(Shape(512, 8, 8, 64, 1003, false), 0.1)},
      {"OPT, separate matrices", AsOpt(Shape(360, 3, 3, 120, 777, true), 0.1)},
      {"LoRA of OPT", AsOpt(Shape(512, 8, 8, 64, 1000, true), 0.1),
       job::LoraSpec{.r = 8, .dropout = 0.1, .targets = {}}},
      {"BLIP-2", WithPictures(Shape(640, 8, 8, 80, 1000, true), 0)},
      {"BLIP-2 with dropout", WithPictures(Shape(512, 8, 8, 64, 1000, true), 0.1)},
      {"LoRA of BLIP-2, all of its parts", WithPictures(Shape(512, 8, 8, 64, 1000, true), 0.1),
       job::LoraSpec{.r = 8, .dropout = 0.1, .targets = {}}},
      {"LoRA, separate matrices", Shape(360, 3, 1, 120, 777, false),
       job::LoraSpec{.r = 5, .alpha = 5, .dropout = 0.3, .targets = {}}},
  };
  return cases;
}

struct Gradients {
  double loss = 0;
  std::vector<at::Tensor> params;  // of the trainable ones, fp32, on the CPU
};

struct Rows {
  at::Tensor inputs, targets;
  at::Tensor images;  // of a model of pictures
};

Gradients Compute(const Case& c, const std::vector<at::Tensor>& weights, const Rows& rows,
                  at::Device device, at::ScalarType type, const ops::Kernels& kernels,
                  bool deterministic) {
  const auto model = std::move(
      model::MakeModel(c.shape, {.device = device, .max_length = kLength, .lora = c.lora}).value());
  std::vector<at::Tensor> local;
  std::set<ops::ParamId> frozen;
  for (size_t i = 0; i < weights.size(); ++i) {
    local.push_back(weights[i].to(device, type));
    if (!model->parameters().params[i].trainable) frozen.insert(static_cast<ops::ParamId>(i));
  }
  engine_test::HeldParameters parameters(local, frozen);
  const at::Tensor sum = at::zeros({}, at::TensorOptions().device(device).dtype(at::kDouble));
  const double tokens = static_cast<double>((rows.targets >= 0).sum().item<int64_t>());
  ops::Tape tape(true);
  const at::Tensor samples =
      at::arange(100, 100 + kRows, at::TensorOptions().device(device).dtype(at::kLong));
  ops::Context context{tape,          parameters,
                       kernels,       c.shape.norm_eps,
                       deterministic, {.seed = 3, .samples = samples, .length = kLength}};
  model->Loss(context, {.rows = kRows,
                        .length = kLength,
                        .inputs = rows.inputs.to(device),
                        .targets = rows.targets.to(device),
                        .loss_sum = sum,
                        .grad_scale = 1 / tokens,
                        .images = c.shape.image ? rows.images.to(device) : at::Tensor()});
  tape.Backward();
  Gradients result{.loss = sum.item<double>() / tokens};
  for (ops::ParamId param = 0; param < static_cast<ops::ParamId>(weights.size()); ++param) {
    if (!frozen.contains(param))
      result.params.push_back(parameters.grad(param).to(at::kCPU, at::kFloat));
  }
  return result;
}

double Norm(const at::Tensor& gradient) { return gradient.norm().item<double>(); }

// A gradient that is nothing but rounding is measured by the largest. The bias of keys has such a
// one where keys are not rotated.
constexpr double kLeastGradient = 1e-5;

double RelativeError(const at::Tensor& actual, const at::Tensor& expected, double largest) {
  if (!at::isfinite(actual).all().item<bool>()) return INFINITY;
  const double size = Norm(expected);
  return Norm(actual - expected) / (size < kLeastGradient * largest ? largest : size);
}

// Prints one line; false where an error is beyond its tolerance.
bool Check(const char* name, const char* engine, const Gradients& actual, const Gradients& expected,
           double tolerance) {
  double worst = std::abs(actual.loss - expected.loss) / expected.loss;
  size_t worst_param = 0;
  double largest = 0;
  for (const at::Tensor& gradient : expected.params) largest = std::max(largest, Norm(gradient));
  for (size_t i = 0; i < expected.params.size(); ++i) {
    const double error = RelativeError(actual.params[i], expected.params[i], largest);
    if (!(error <= worst)) {
      worst = error;
      worst_param = i;
    }
  }
  const bool good = worst <= tolerance;
  std::printf("%-40s %-28s loss %.6f (%.6f)  worst relative error %.2e (parameter %zu)  %s\n", name,
              engine, actual.loss, expected.loss, worst, worst_param,
              good ? "ok" : "BEYOND TOLERANCE");
  return good;
}

// A model of pictures has its placeholders at the begin of each row.
Rows RandomRows(const job::ModelShape& shape) {
  Rows rows = {.inputs = at::randint(0, shape.vocab, {kRows * kLength}, at::kLong),
               .targets = at::randint(0, shape.vocab, {kRows * kLength}, at::kLong),
               .images = {}};
  rows.targets.narrow(0, 20, 90).fill_(-100);
  if (!shape.image) return rows;
  const job::ImageShape& image = *shape.image;
  rows.inputs.view({kRows, kLength}).narrow(1, 0, image.queries).fill_(image.token);
  rows.images = at::randn({kRows, 3, image.side, image.side});
  return rows;
}

bool CheckCase(const Case& c) {
  at::manual_seed(5);
  const auto model =
      std::move(model::MakeModel(c.shape, {.max_length = kLength, .lora = c.lora}).value());
  std::vector<at::Tensor> weights, rounded;
  for (const ops::ParamSpec& spec : model->parameters().params) {
    weights.push_back(spec.init == ops::Init::kOnes ? at::randn(spec.shape).mul_(0.1).add_(1)
                                                    : at::randn(spec.shape).mul_(0.05));
    rounded.push_back(weights.back().to(at::kBFloat16).to(at::kFloat));
  }
  const Rows rows = RandomRows(c.shape);

  const Gradients exact =
      Compute(c, weights, rows, at::kCPU, at::kFloat, ops::AtenKernels(), false);
  const Gradients exact_of_rounded =
      Compute(c, rounded, rows, at::kCPU, at::kFloat, ops::AtenKernels(), false);
  const at::Device gpu(at::kCUDA, 0);
  bool good = true;
  const auto check = [&](const char* engine, at::ScalarType type, const ops::Kernels& kernels,
                         bool deterministic, double tolerance) {
    const Gradients actual = Compute(c, weights, rows, gpu, type, kernels, deterministic);
    good =
        Check(c.name, engine, actual, type == at::kFloat ? exact : exact_of_rounded, tolerance) &&
        good;
    if (!deterministic) return;
    const Gradients again = Compute(c, weights, rows, gpu, type, kernels, deterministic);
    for (size_t i = 0; i < again.params.size(); ++i) {
      if (at::equal(again.params[i], actual.params[i])) continue;
      std::printf("%-40s %-28s parameter %zu differs between two runs\n", c.name, engine, i);
      good = false;
    }
  };
  check("reference fp32", at::kFloat, ops::AtenKernels(), false, c.tolerance().fp32);
  check("fused fp32", at::kFloat, ops::FusedKernels(), false, c.tolerance().fp32);
  check("reference bf16", at::kBFloat16, ops::AtenKernels(), false, c.tolerance().bf16);
  check("fused bf16", at::kBFloat16, ops::FusedKernels(), false, c.tolerance().bf16);
  check("fused bf16, deterministic", at::kBFloat16, ops::FusedKernels(), true, c.tolerance().bf16);
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
