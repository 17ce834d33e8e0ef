// Where each parameter lies in its unit's flat buffer. Every Hugging Face tensor starts at a multiple of model::kAlignment elements. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "worker/ops/parameters.h"

namespace trainctl::strategy {

struct FlatUnit {
  int64_t numel = 0;  // padding included
};

struct Gap {
  int64_t offset = 0;
  int64_t numel = 0;
};

class FlatLayout {
 public:
  explicit FlatLayout(const ops::ParameterTable& table);

  const std::vector<FlatUnit>& units() const { return units_; }
  // The parameter's elements of its unit's flat buffer, in its shape.
  at::Tensor View(const at::Tensor& flat, ops::ParamId param) const;
  // Elements of the unit's buffer that belong to no parameter.
  const std::vector<Gap>& gaps(ops::UnitId unit) const { return gaps_[unit]; }

 private:
  const ops::ParameterTable& table_;
  std::vector<FlatUnit> units_;
  std::vector<std::vector<Gap>> gaps_;  // by unit
  std::vector<int64_t> offsets_;        // by parameter
};

}  // namespace trainctl::strategy
