// A tiny LLaMA trained for a few steps on random rows, at any world size (ranks are threads over
// loopback): for tests that compare ways of reaching the same numbers.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "common/job/job.h"
#include "common/model/model_shape.h"
#include "worker/rank/comm/communicator.h"
#include "worker/rank/strategy/strategy.h"

namespace trainctl::engine_test {

job::ModelShape TinyShape();
inline constexpr int64_t kTinyUnits = 4;  // embedding, two blocks, head

// BLIP-2 with OPT, with dropout in the Q-Former and the decoder.
job::ModelShape TinyBlip2();

struct TinyRun {
  job::JobSpec job;  // precision, optimizer, deterministic, max_norm … as the test wants them;
                     // strategy auto: single or ddp
  int64_t devices = 1;
  int64_t accumulation = 1;
  int64_t micro = 2;
  bool holds_gradients = false;
  int64_t steps = 5;
  int64_t first_step = 0;  // the steps before it were another run's
  // On every rank, before the first step and between steps.
  std::function<void(strategy::Strategy& strategy, comm::Communicator& comm)> begin = {};
  // As the forward of a step's last micro step begins.
  std::function<void(strategy::Strategy& strategy)> before_last_forward = {};
  std::function<void(int64_t steps_done, strategy::Strategy& strategy, comm::Communicator& comm)>
      after_step = {};
};

struct TinyResult {
  std::vector<double> losses;                 // sums of each step's losses over its tokens' count
  std::vector<double> norms;                  // NaN where not wanted
  job::MemoryByKind held;                     // by rank 0 after the last step
  std::map<std::string, at::Tensor> weights;  // by Hugging Face name, of rank 0
  int64_t all_gathers = 0;                    // of rank 0, in all steps
  int64_t reduce_scatters = 0;                //
  bool ranks_agree = true;                    // all ranks hold the same weights
};

// Weights and rows come from fixed seeds: equal for all runs with equal devices × accumulation ×
// micro.
TinyResult Train(const TinyRun& run, const job::ModelShape& shape = TinyShape());

// Runs body as `world_size` ranks in threads that share a group over loopback; rethrows the first
// exception.
void InGang(int64_t world_size, const std::function<void(comm::Communicator&)>& body);

}  // namespace trainctl::engine_test
