// A fake of a strategy: parameters as plain tensors, gradients held to the end. Checks the order of
// units.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "worker/rank/ops/parameters.h"

namespace trainctl::engine_test {

class HeldParameters : public ops::ParameterAccess {
 public:
  // frozen_units: those that have nothing but frozen parameters.
  explicit HeldParameters(std::vector<at::Tensor> weights, std::set<ops::ParamId> frozen = {},
                          std::set<ops::UnitId> frozen_units = {})
      : weights_(std::move(weights)),
        frozen_(std::move(frozen)),
        frozen_units_(std::move(frozen_units)) {
    for (const at::Tensor& weight : weights_)
      grads_.push_back(weight.new_empty(weight.sizes()).fill_(std::nan("")));  // poisoned
    written_.resize(weights_.size());
  }

  void BeginUnit(ops::UnitId unit, ops::Pass) override { open_.push_back(unit); }
  void EndUnit(ops::UnitId unit, ops::Pass) override {
    ASSERT_FALSE(open_.empty());
    EXPECT_EQ(open_.back(), unit);
    open_.pop_back();
  }
  at::Tensor Weight(ops::ParamId param) override { return weights_[param]; }
  ops::GradView Grad(ops::ParamId param) override {
    if (frozen_.contains(param)) return {};
    const double beta = written_[param] ? 1 : 0;
    written_[param] = true;
    return {grads_[param], beta};
  }

  bool Trains(ops::UnitId unit) const override { return !frozen_units_.contains(unit); }

  const at::Tensor& grad(ops::ParamId param) const { return grads_[param]; }
  bool AllUnitsClosed() const { return open_.empty(); }

 private:
  std::vector<at::Tensor> weights_, grads_;
  std::set<ops::ParamId> frozen_;
  std::set<ops::UnitId> frozen_units_;
  std::vector<bool> written_;
  std::vector<ops::UnitId> open_;
};

}  // namespace trainctl::engine_test
