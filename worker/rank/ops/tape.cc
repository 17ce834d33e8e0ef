#include "worker/rank/ops/tape.h"

#include <ATen/ops/add.h>

#include <utility>

#include "common/base/check.h"

namespace trainctl::ops {

Var Tape::Output(at::Tensor value) {
  if (!recording_) return {std::move(value), -1};
  grads_.emplace_back();
  return {std::move(value), static_cast<int>(grads_.size()) - 1};
}

void Tape::Record(std::function<void()> backward) {
  if (recording_) records_.push_back(std::move(backward));
}

at::Tensor Tape::TakeGrad(const Var& var) {
  CHECK(var.slot >= 0) << "gradient of a value that was not recorded";
  return std::exchange(grads_[var.slot], at::Tensor());
}

void Tape::PutGrad(const Var& var, at::Tensor grad) {
  if (var.slot < 0) return;
  at::Tensor& held = grads_[var.slot];
  held = held.defined() ? at::add(held, grad) : std::move(grad);
}

void Tape::RunRecords() {
  while (!records_.empty()) {
    // The record is destroyed before the next one runs: what it saved is free by then.
    const std::function<void()> backward = std::move(records_.back());
    records_.pop_back();
    backward();
  }
}

void Tape::Backward() {
  RunRecords();
  grads_.clear();
}

std::vector<at::Tensor> Tape::BackwardInto(const std::vector<Var>& inputs) {
  RunRecords();
  std::vector<at::Tensor> grads;
  for (const Var& input : inputs) grads.push_back(input.slot < 0 ? at::Tensor() : TakeGrad(input));
  grads_.clear();
  return grads;
}

void Tape::BackwardInto(const Var& input, const std::function<void(at::Tensor)>& take) {
  RunRecords();
  take(TakeGrad(input));
  grads_.clear();
}

}  // namespace trainctl::ops
