// Where each parameter of one group (the trainable ones, or the frozen ones) lies in its unit's
// flat buffer. Every Hugging Face tensor starts at a multiple of model::kTensorAlignment elements.
// A unit's buffer divides into equal shards that do too. Pure.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "worker/rank/ops/parameters.h"

namespace trainctl::strategy {

struct Gap {
  int64_t offset = 0;
  int64_t numel = 0;
};

// A tensor of the checkpoint in its unit's buffer.
struct PieceRange {
  std::string name;
  int64_t offset = 0;
  int64_t numel = 0;
};

class FlatLayout {
 public:
  using Group = std::function<bool(const ops::ParamSpec&)>;

  // shards: the number that each unit's buffer is divided by.
  FlatLayout(const ops::ParameterTable& table, const Group& group, int64_t shards = 1);

  ops::UnitId units() const { return static_cast<ops::UnitId>(numels_.size()); }
  bool Holds(ops::ParamId param) const { return offsets_[param] >= 0; }
  // Elements of the unit's buffer, padding included; 0 where the group has none of its parameters.
  int64_t numel(ops::UnitId unit) const { return numels_[unit]; }
  int64_t shard_numel(ops::UnitId unit) const { return numels_[unit] / shards_; }
  std::vector<int64_t> shard_numels() const;  // by unit
  // First element of the parameter in its unit's buffer.
  int64_t offset(ops::ParamId param) const { return offsets_[param]; }
  // The parameter's elements of its unit's flat buffer, in its shape.
  at::Tensor View(const at::Tensor& flat, ops::ParamId param) const;
  // Elements of the unit's buffer that belong to no parameter.
  const std::vector<Gap>& gaps(ops::UnitId unit) const { return gaps_[unit]; }
  const std::vector<PieceRange>& pieces(ops::UnitId unit) const { return pieces_[unit]; }

 private:
  void Place(const ops::ParamSpec& spec, ops::ParamId param);

  const ops::ParameterTable& table_;
  const int64_t shards_;
  std::vector<int64_t> numels_;                  // by unit
  std::vector<std::vector<Gap>> gaps_;           //
  std::vector<std::vector<PieceRange>> pieces_;  //
  std::vector<int64_t> offsets_;                 // by parameter; −1: of another group
};

}  // namespace trainctl::strategy
