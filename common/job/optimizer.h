// The optimizers, a row each: all that checks and estimates know of one. Pure.
#pragma once

#include <array>
#include <string_view>

#include "common/job/job.h"

namespace trainctl::job {

// How the values lie that an optimizer keeps for each parameter.
enum class StateForm {
  kNone,
  kAsMasters,  // in the dtype of the weights that are updated
  kEightBit    // a byte, and an fp32 scale for each 256; of small tensors fp32
};

struct OptimizerInfo {
  OptimizerKind kind;
  std::string_view name;  // in job files
  int states;             // values for each parameter
  StateForm form;
  bool has_momentum;       // optimizer.momentum counts: at 0 there is no state
  bool offloads;           // offload_optimizer: there is an update on the CPU
  double update_bytes[3];  // that an update moves for each parameter: of a Precision each
  double slowness = 1;     // of the update, against moving these bytes; measured
};

inline constexpr OptimizerInfo kOptimizers[] = {
    {OptimizerKind::kAdamW, "adamw", 2, StateForm::kAsMasters, false, true, {28, 14, 30}},
    {OptimizerKind::kSgd, "sgd", 1, StateForm::kAsMasters, true, false, {12, 6, 14}},
    {OptimizerKind::kAdamW8bit,
     "adamw_8bit",
     2,
     StateForm::kEightBit,
     false,
     false,
     {18, 10, 20},
     1.7},  // further-adamw-8bit
};

constexpr const OptimizerInfo& InfoOf(OptimizerKind kind) {
  return kOptimizers[static_cast<size_t>(kind)];
}

// In the order of the enumeration.
static_assert([] {
  for (size_t i = 0; i < std::size(kOptimizers); ++i) {
    if (kOptimizers[i].kind != static_cast<OptimizerKind>(i)) return false;
  }
  return true;
}());

// Of this job's settings.
constexpr StateForm StateFormOf(const OptimizerSpec& optimizer) {
  const OptimizerInfo& info = InfoOf(optimizer.name);
  return info.has_momentum && optimizer.momentum == 0 ? StateForm::kNone : info.form;
}

}  // namespace trainctl::job
