#include "worker/rank/optim/fused_update.h"

#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>

#include "worker/rank/ops/cuda_element.h"
#include "worker/rank/ops/fused.h"

namespace trainctl::optim {
namespace {

ops::fused::FlatParameters Flat(const FlatUpdate& flat, const StepRates& rates) {
  return {.count = flat.master.numel(),
          .parameter_type = ops::ElementType(flat.master.scalar_type()),
          .grad_type = ops::ElementType(flat.grad.scalar_type()),
          .parameters = flat.master.data_ptr(),
          .grads = flat.grad.const_data_ptr(),
          .compute_copy = flat.compute.defined() ? flat.compute.data_ptr() : nullptr,
          .grad_scale =
              rates.grad_scale.defined() ? rates.grad_scale.const_data_ptr<float>() : nullptr};
}

}  // namespace

ops::fused::AdamWStep AdamWStepOf(const job::OptimizerSpec& spec, const StepRates& rates) {
  return {.step = rates.step,
          .lr = rates.lr,
          .beta1 = spec.betas[0],
          .beta2 = spec.betas[1],
          .eps = spec.eps,
          .weight_decay = spec.weight_decay};
}

void FusedAdamW(const job::OptimizerSpec& spec, const FlatUpdate& flat, const at::Tensor& first,
                const at::Tensor& second, const StepRates& rates) {
  ops::fused::FlatParameters parameters = Flat(flat, rates);
  parameters.fp32_moments =
      flat.master.scalar_type() != at::kFloat && first.scalar_type() == at::kFloat;
  C10_CUDA_CHECK(ops::fused::AdamW(parameters, first.data_ptr(), second.data_ptr(),
                                   AdamWStepOf(spec, rates), c10::cuda::getCurrentCUDAStream()));
}

void FusedAdamW8bit(const job::OptimizerSpec& spec, const FlatUpdate& flat,
                    const EightBitState& state, const StepRates& rates) {
  const ops::fused::EightBitMoments moments{
      .first = state.first.data_ptr<uint8_t>(),
      .second = state.second.data_ptr<uint8_t>(),
      .first_absmax = state.first_absmax.data_ptr<float>(),
      .second_absmax = state.second_absmax.data_ptr<float>(),
      .tables = static_cast<const ops::fused::DynamicTables*>(state.tables.const_data_ptr())};
  C10_CUDA_CHECK(ops::fused::AdamW8bit(Flat(flat, rates), moments, AdamWStepOf(spec, rates),
                                       c10::cuda::getCurrentCUDAStream()));
}

void FusedSgd(const job::OptimizerSpec& spec, const FlatUpdate& flat, const at::Tensor& momentum,
              const StepRates& rates) {
  const ops::fused::SgdStep step{
      .lr = rates.lr, .momentum = spec.momentum, .weight_decay = spec.weight_decay};
  C10_CUDA_CHECK(ops::fused::Sgd(Flat(flat, rates),
                                 momentum.defined() ? momentum.data_ptr() : nullptr, step,
                                 c10::cuda::getCurrentCUDAStream()));
}

}  // namespace trainctl::optim
