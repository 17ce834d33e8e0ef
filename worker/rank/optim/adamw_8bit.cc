#include "worker/rank/optim/adamw_8bit.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/argmin.h>
#include <ATen/ops/bucketize.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>

#include "common/base/check.h"
#include "worker/rank/ops/dynamic_map.h"
#include "worker/rank/optim/fused_update.h"

namespace trainctl::optim {
namespace {

constexpr int64_t kPiece = 1 << 20;  // elements that the reference has in fp32 at once

int64_t PadToBlock(int64_t numel) {
  return (numel + AdamW8bit::kBlock - 1) / AdamW8bit::kBlock * AdamW8bit::kBlock;
}

FlatUpdate Part(const FlatUpdate& flat, int64_t begin, int64_t numel) {
  return {flat.master.narrow(0, begin, numel), flat.grad.narrow(0, begin, numel),
          flat.compute.defined() ? flat.compute.narrow(0, begin, numel) : at::Tensor()};
}

int64_t CodeOfZero(const at::Tensor& map) { return at::argmin(map.abs()).item<int64_t>(); }

// The gradient in fp32, clipped.
at::Tensor WideGrad(const FlatUpdate& flat, const StepRates& rates) {
  const at::Tensor grad = flat.grad.to(at::kFloat);
  return rates.grad_scale.defined() ? grad * rates.grad_scale : grad;
}

void WriteBack(const FlatUpdate& flat, const at::Tensor& wide) {
  if (!wide.is_same(flat.master)) flat.master.copy_(wide);
  if (flat.compute.defined()) flat.compute.copy_(wide);
}

at::Tensor Decode(const at::Tensor& map, const at::Tensor& codes, const at::Tensor& absmax) {
  return (map.index_select(0, codes.to(at::kInt)).view({-1, AdamW8bit::kBlock}) *
          absmax.unsqueeze(1))
      .view({-1});
}

void Encode(const at::Tensor& bounds, const at::Tensor& moments, const at::Tensor& codes,
            const at::Tensor& absmax) {
  const at::Tensor blocks = moments.view({-1, AdamW8bit::kBlock});
  absmax.copy_(at::amax(blocks.abs(), {1}));
  const at::Tensor scaled = blocks * absmax.clamp_min(1e-38).reciprocal().unsqueeze(1);
  codes.copy_(at::bucketize(scaled, bounds, /*out_int32=*/true).view({-1}));
}

}  // namespace

AdamW8bit::AdamW8bit(const OptimizerOptions& options, const std::vector<FlatBuffer>& buffers)
    : spec_(options.spec), engine_(options.engine) {
  signed_map_ = ops::DynamicMap(/*is_signed=*/true);
  unsigned_map_ = ops::DynamicMap(/*is_signed=*/false);
  const int64_t signed_zero = CodeOfZero(signed_map_), unsigned_zero = CodeOfZero(unsigned_map_);
  for (const FlatBuffer& buffer : buffers) {
    std::vector<Run>& runs = runs_.emplace_back();
    for (const Segment& segment : buffer.segments) {
      CHECK(segment.begin % kBlock == 0) << "a segment begins at " << segment.begin;
      const bool is_small = segment.tensor_numel < kSmallTensor;
      if (runs.empty() || runs.back().is_small != is_small)
        runs.push_back({.begin = segment.begin, .is_small = is_small});
      runs.back().numel = segment.begin + PadToBlock(segment.numel) - runs.back().begin;
    }
    const at::TensorOptions fp32 = buffer.master.options().dtype(at::kFloat);
    for (Run& run : runs) {
      if (run.is_small) {
        run.first = at::zeros({run.numel}, fp32);
        run.second = at::zeros_like(run.first);
        continue;
      }
      // Zero between tensors as well: a checkpoint does not have what lies there.
      run.first = at::full({run.numel}, signed_zero, fp32.dtype(at::kByte));
      run.second = at::full({run.numel}, unsigned_zero, fp32.dtype(at::kByte));
      run.first_absmax = at::zeros({run.numel / kBlock}, fp32);
      run.second_absmax = at::zeros_like(run.first_absmax);
    }
  }
  if (buffers.empty()) return;
  const at::Device device = buffers[0].master.device();
  if (device.is_cuda()) tables_ = ops::DynamicTables(device);
  signed_map_ = signed_map_.to(device);
  unsigned_map_ = unsigned_map_.to(device);
  signed_bounds_ = ops::DynamicBounds(signed_map_);
  unsigned_bounds_ = ops::DynamicBounds(unsigned_map_);
}

void AdamW8bit::Update(size_t index, const FlatUpdate& flat, const StepRates& rates) {
  const bool fused = flat.master.is_cuda() && engine_ == job::EngineKind::kFused;
  for (const Run& run : runs_[index]) {
    const FlatUpdate part = Part(flat, run.begin, run.numel);
    if (run.is_small) {
      UpdateSmall(run, part, rates, fused);
    } else if (fused) {
      FusedAdamW8bit(spec_, part,
                     {run.first, run.second, run.first_absmax, run.second_absmax, tables_}, rates);
    } else {
      UpdateCodes(run, part, rates);
    }
  }
}

void AdamW8bit::UpdateSmall(const Run& run, const FlatUpdate& flat, const StepRates& rates,
                            bool fused) const {
  if (fused) return FusedAdamW(spec_, flat, run.first, run.second, rates);
  const at::Tensor wide = flat.master.to(at::kFloat);
  const at::Tensor step = at::full({}, static_cast<double>(rates.step), wide.options());
  at::_fused_adamw_({wide}, {WideGrad(flat, rates)}, {run.first}, {run.second}, {}, {step},
                    rates.lr, spec_.betas[0], spec_.betas[1], spec_.weight_decay, spec_.eps,
                    /*amsgrad=*/false, /*maximize=*/false);
  WriteBack(flat, wide);
}

// In the operations, and their order, of bitsandbytes' own CPU implementation.
void AdamW8bit::UpdateCodes(const Run& run, const FlatUpdate& flat, const StepRates& rates) const {
  const double first_correction = 1 - std::pow(spec_.betas[0], static_cast<double>(rates.step));
  const double second_correction =
      std::sqrt(1 - std::pow(spec_.betas[1], static_cast<double>(rates.step)));
  for (int64_t begin = 0; begin < run.numel; begin += kPiece) {
    const int64_t numel = std::min(kPiece, run.numel - begin);
    const FlatUpdate piece = Part(flat, begin, numel);
    const auto codes = [&](const at::Tensor& all) { return all.narrow(0, begin, numel); };
    const auto scales = [&](const at::Tensor& all) {
      return all.narrow(0, begin / kBlock, numel / kBlock);
    };
    const at::Tensor grad = WideGrad(piece, rates);
    const at::Tensor first = Decode(signed_map_, codes(run.first), scales(run.first_absmax));
    const at::Tensor second = Decode(unsigned_map_, codes(run.second), scales(run.second_absmax));
    first.mul_(spec_.betas[0]).add_(grad, 1 - spec_.betas[0]);
    second.mul_(spec_.betas[1]).addcmul_(grad, grad, 1 - spec_.betas[1]);
    const at::Tensor wide = piece.master.to(at::kFloat);
    if (spec_.weight_decay > 0) wide.mul_(1 - rates.lr * spec_.weight_decay);
    wide.addcdiv_(first, (second.sqrt() / second_correction).add_(spec_.eps),
                  -rates.lr / first_correction);
    WriteBack(piece, wide);
    Encode(signed_bounds_, first, codes(run.first), scales(run.first_absmax));
    Encode(unsigned_bounds_, second, codes(run.second), scales(run.second_absmax));
  }
}

std::vector<StateTensor> AdamW8bit::State(size_t index) {
  std::vector<StateTensor> state;
  for (const Run& run : runs_[index]) {
    state.push_back({"exp_avg", run.first, 1, run.begin});
    state.push_back({"exp_avg_sq", run.second, 1, run.begin});
    if (run.is_small) continue;
    state.push_back({"exp_avg_absmax", run.first_absmax, kBlock, run.begin});
    state.push_back({"exp_avg_sq_absmax", run.second_absmax, kBlock, run.begin});
  }
  return state;
}

int64_t AdamW8bit::StateBytes() const {
  int64_t bytes = 0;
  for (const std::vector<Run>& runs : runs_) {
    for (const Run& run : runs) {
      for (const at::Tensor& state : {run.first, run.second, run.first_absmax, run.second_absmax}) {
        if (state.defined()) bytes += static_cast<int64_t>(state.nbytes());
      }
    }
  }
  return bytes;
}

}  // namespace trainctl::optim
