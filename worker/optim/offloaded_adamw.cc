#include "worker/optim/offloaded_adamw.h"

#include <cmath>

#include "common/base/check.h"
#include "worker/optim/host_tensor.h"

namespace trainctl::optim {
namespace {

AdamRule MakeRule(const job::OptimizerSpec& spec, const StepRates& rates) {
  const double first_correction = 1 - std::pow(spec.betas[0], static_cast<double>(rates.step));
  const double second_correction = 1 - std::pow(spec.betas[1], static_cast<double>(rates.step));
  return {.decay = static_cast<float>(1 - rates.lr * spec.weight_decay),
          .beta1 = static_cast<float>(spec.betas[0]),
          .one_minus_beta1 = static_cast<float>(1 - spec.betas[0]),
          .beta2 = static_cast<float>(spec.betas[1]),
          .one_minus_beta2 = static_cast<float>(1 - spec.betas[1]),
          .step_size = static_cast<float>(rates.lr / first_correction),
          .second_scale = static_cast<float>(1 / std::sqrt(second_correction)),
          .eps = static_cast<float>(spec.eps)};
}

}  // namespace

OffloadedAdamW::OffloadedAdamW(const OptimizerOptions& options, const std::vector<FlatBuffer>& buffers)
    : spec_(options.spec), pipeline_(options.device, options.threads, AdamPaths().front().kernel, MakeChunkTransfer(options.device)) {
  for (const FlatBuffer& buffer : buffers) {
    CHECK(buffer.master.is_cpu() && buffer.master.scalar_type() == at::kFloat) << "an offloaded master is fp32 in host memory";
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
  update->rule = MakeRule(spec_, rates);
  pipeline_.Enqueue(update);
}

std::vector<StateTensor> OffloadedAdamW::State(size_t index) {
  return {{"exp_avg", first_moments_[index]}, {"exp_avg_sq", second_moments_[index]}};
}

int64_t OffloadedAdamW::HostStateBytes() const {
  int64_t bytes = 0;
  for (const at::Tensor& moment : first_moments_) bytes += 2 * static_cast<int64_t>(moment.nbytes());
  return bytes;
}

}  // namespace trainctl::optim
