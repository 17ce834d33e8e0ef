#include "worker/rank/optim/sgd.h"

#include <ATen/ops/zeros_like.h>

#include "worker/rank/optim/fused_update.h"

namespace trainctl::optim {

Sgd::Sgd(const OptimizerOptions& options, const std::vector<FlatBuffer>& buffers)
    : spec_(options.spec), engine_(options.engine) {
  if (spec_.momentum == 0) return;
  for (const FlatBuffer& buffer : buffers) momenta_.push_back(at::zeros_like(buffer.master));
}

std::vector<StateTensor> Sgd::State(size_t index) {
  if (momenta_.empty()) return {};
  return {{"momentum_buffer", momenta_[index]}};
}

void Sgd::Update(size_t index, const FlatUpdate& flat, const StepRates& rates) {
  if (flat.master.is_cuda() && engine_ == job::EngineKind::kFused) {
    return FusedSgd(spec_, flat, momenta_.empty() ? at::Tensor() : momenta_[index], rates);
  }
  at::Tensor grad = flat.grad;
  if (rates.grad_scale.defined()) grad.mul_(rates.grad_scale.to(grad.scalar_type()));
  if (spec_.weight_decay != 0) grad.add_(flat.master, spec_.weight_decay);
  if (!momenta_.empty()) grad = momenta_[index].mul_(spec_.momentum).add_(grad);
  flat.master.add_(grad, -rates.lr);
  if (flat.compute.defined()) flat.compute.copy_(flat.master);
}

int64_t Sgd::StateBytes() const {
  int64_t bytes = 0;
  for (const at::Tensor& momentum : momenta_) bytes += static_cast<int64_t>(momentum.nbytes());
  return bytes;
}

}  // namespace trainctl::optim
