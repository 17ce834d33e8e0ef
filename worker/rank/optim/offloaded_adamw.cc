#include "worker/rank/optim/offloaded_adamw.h"

#include "common/base/check.h"
#include "worker/rank/ops/fused.h"
#include "worker/rank/optim/fused_update.h"
#include "worker/rank/optim/host_tensor.h"

namespace trainctl::optim {

OffloadedAdamW::OffloadedAdamW(const OptimizerOptions& options,
                               const std::vector<FlatBuffer>& buffers)
    : spec_(options.spec),
      pipeline_(options.device, options.threads, AdamPaths().front().kernel,
                MakeChunkTransfer(options.device)) {
  for (const FlatBuffer& buffer : buffers) {
    CHECK(buffer.master.is_cpu() && buffer.master.scalar_type() == at::kFloat)
        << "an offloaded master is fp32 in host memory";
    first_moments_.push_back(HostMoment(buffer.master.numel(), options.device));
    second_moments_.push_back(HostMoment(buffer.master.numel(), options.device));
  }
}

void OffloadedAdamW::Update(size_t index, const FlatUpdate& flat, const StepRates& rates) {
  const auto update = std::make_shared<HostUpdate>();
  update->master = flat.master;
  update->first = first_moments_[index];
  update->second = second_moments_[index];
  update->grad = flat.grad;
  update->compute = flat.compute;
  update->grad_scale = rates.grad_scale;
  update->rule = {.factors = ops::FactorsOf(AdamWStepOf(spec_, rates))};
  pipeline_.Enqueue(update);
}

std::vector<StateTensor> OffloadedAdamW::State(size_t index) {
  return {{"exp_avg", first_moments_[index]}, {"exp_avg_sq", second_moments_[index]}};
}

int64_t OffloadedAdamW::HostStateBytes() const {
  int64_t bytes = 0;
  for (const at::Tensor& moment : first_moments_)
    bytes += 2 * static_cast<int64_t>(moment.nbytes());
  return bytes;
}

}  // namespace trainctl::optim
