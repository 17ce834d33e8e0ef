#include "worker/rank/optim/adamw.h"

#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros_like.h>

#include "worker/rank/optim/fused_update.h"

namespace trainctl::optim {

AdamW::AdamW(const OptimizerOptions& options, const std::vector<FlatBuffer>& buffers)
    : spec_(options.spec), engine_(options.engine) {
  for (const FlatBuffer& buffer : buffers) {
    first_moments_.push_back(at::zeros_like(buffer.master));
    second_moments_.push_back(at::zeros_like(buffer.master));
  }
}

std::vector<StateTensor> AdamW::State(size_t index) {
  return {{"exp_avg", first_moments_[index]}, {"exp_avg_sq", second_moments_[index]}};
}

void AdamW::Update(size_t index, const FlatUpdate& flat, const StepRates& rates) {
  const at::Tensor &first = first_moments_[index], &second = second_moments_[index];
  if (flat.master.is_cuda() && engine_ == job::EngineKind::kFused)
    return FusedAdamW(spec_, flat, first, second, rates);
  if (rates.grad_scale.defined()) flat.grad.mul_(rates.grad_scale.to(flat.grad.scalar_type()));
  const at::Tensor step =
      at::full({}, static_cast<double>(rates.step), flat.master.options().dtype(at::kFloat));
  at::_fused_adamw_({flat.master}, {flat.grad}, {first}, {second}, {}, {step}, rates.lr,
                    spec_.betas[0], spec_.betas[1], spec_.weight_decay, spec_.eps,
                    /*amsgrad=*/false, /*maximize=*/false);
  if (flat.compute.defined()) flat.compute.copy_(flat.master);
}

int64_t AdamW::StateBytes() const {
  int64_t bytes = 0;
  for (const at::Tensor& moment : first_moments_)
    bytes += 2 * static_cast<int64_t>(moment.nbytes());
  return bytes;
}

}  // namespace trainctl::optim
