#include "worker/rank/train/run_state.h"

namespace trainctl::train {

strategy::Strategy& MakeRankStrategy(const RankContext& rank, const model::Model& model,
                                     const RankDevice& device, int64_t accumulation,
                                     RunState& state) {
  state.before_weights = device.Memory().allocated_bytes;
  const auto note_weights = [&] { state.before_optimizer = device.Memory().allocated_bytes; };
  state.strategy =
      strategy::MakeStrategy(model.parameters(), {.job = rank.plan.job,
                                                  .accumulation = accumulation,
                                                  .holds_gradients = rank.plan.holds_gradients,
                                                  .device = rank.device,
                                                  .comm = &rank.comm,
                                                  .threads = rank.plan.threads,
                                                  .on_weights_made = note_weights});
  return *state.strategy;
}

}  // namespace trainctl::train
