// What ops work with.
#pragma once

#include "worker/rank/ops/dropout.h"
#include "worker/rank/ops/kernels.h"
#include "worker/rank/ops/parameters.h"
#include "worker/rank/ops/tape.h"

namespace trainctl::ops {

// One micro step's surroundings.
struct Context {
  Tape& tape;
  ParameterAccess& params;
  const Kernels& kernels;
  double norm_eps = 1e-5;
  bool deterministic = false;
  DropoutRows dropout = {};
  bool recomputes = false;  // a unit's forward runs again, for what its backward needs alone

  // The same, recorded elsewhere.
  Context On(Tape& other) const {
    return {other, params, kernels, norm_eps, deterministic, dropout, recomputes};
  }
};

}  // namespace trainctl::ops
