// AdamW and SGD over flat buffers: one pass over parameters, gradients and state, in 16-byte
// pieces. Bound by memory: 14 bytes a parameter for AdamW all in bf16, 28 all in fp32, 30 with a
// compute copy.
#include "worker/rank/ops/fused_adamw.cuh"
#include "worker/rank/ops/fused_launch.cuh"
#include "worker/rank/ops/fused_pack.cuh"

namespace trainctl::ops::fused {
namespace {

constexpr int kThreads = 256;

// One element: parameter and state in, parameter and state out, in fp32.
struct AdamWRule {
  AdamWFactors factors;

  __device__ float operator()(float parameter, float grad, float& first, float& second) const {
    first = factors.beta1 * first + factors.one_minus_beta1 * grad;
    second = factors.beta2 * second + factors.one_minus_beta2 * grad * grad;
    return AdamWUpdated(factors, parameter, first, second);
  }
};

struct SgdRule {
  float lr;
  float momentum;
  float weight_decay;

  __device__ float operator()(float parameter, float grad, float& velocity, float&) const {
    velocity = momentum * velocity + grad + weight_decay * parameter;
    return parameter - lr * velocity;
  }
};

// kStates moments of type S each; P, G: parameters and gradients.
template <class P, class G, class S>
struct Buffers {
  P* parameters;
  const G* grads;
  S* states[2];
  __nv_bfloat16* compute_copy;
  const float* grad_scale;
};

template <class Rule, int kStates, int W, class P, class G, class S>
__device__ void UpdatePiece(const Buffers<P, G, S>& b, const Rule& rule, float grad_scale,
                            int64_t at) {
  auto parameters = Load<W>(b.parameters + at);
  const auto grads = Load<W>(b.grads + at);
  Pack<S, W> states[2];
  for (int s = 0; s < kStates; ++s) {
    states[s] = Load<W>(b.states[s] + at);
  }
  Pack<__nv_bfloat16, W> copies;
  for (int k = 0; k < W; ++k) {
    float moments[2] = {0, 0};
    for (int s = 0; s < kStates; ++s) {
      moments[s] = ToFloat(states[s].value[k]);
    }
    const float updated = rule(ToFloat(parameters.value[k]), ToFloat(grads.value[k]) * grad_scale,
                               moments[0], moments[1]);
    for (int s = 0; s < kStates; ++s) {
      states[s].value[k] = FromFloat<S>(moments[s]);
    }
    parameters.value[k] = FromFloat<P>(updated);
    copies.value[k] = FromFloat<__nv_bfloat16>(updated);
  }
  Store(b.parameters + at, parameters);
  for (int s = 0; s < kStates; ++s) {
    Store(b.states[s] + at, states[s]);
  }
  if (b.compute_copy != nullptr) {
    Store(b.compute_copy + at, copies);
  }
}

template <class Rule, int kStates, class P, class G, class S>
__global__ void __launch_bounds__(kThreads)
    UpdateKernel(Buffers<P, G, S> b, Rule rule, int64_t count) {
  AwaitPrevious();
  const float grad_scale = b.grad_scale != nullptr ? *b.grad_scale : 1.0f;
  const int64_t thread = blockIdx.x * static_cast<int64_t>(kThreads) + threadIdx.x;
  const int64_t pieces = count / kWide;
  for (int64_t piece = thread; piece < pieces;
       piece += static_cast<int64_t>(gridDim.x) * kThreads) {
    UpdatePiece<Rule, kStates, kWide>(b, rule, grad_scale, piece * kWide);
  }
  if (thread < count - pieces * kWide) {
    UpdatePiece<Rule, kStates, 1>(b, rule, grad_scale, pieces * kWide + thread);
  }
}

template <int kStates, class P, class G, class S, class Rule>
cudaError_t LaunchUpdate(const FlatParameters& flat, void* state0, void* state1, const Rule& rule,
                         cudaStream_t stream) {
  const Buffers<P, G, S> buffers{static_cast<P*>(flat.parameters),
                                 static_cast<const G*>(flat.grads),
                                 {static_cast<S*>(state0), static_cast<S*>(state1)},
                                 static_cast<__nv_bfloat16*>(flat.compute_copy),
                                 flat.grad_scale};
  return Launch(UpdateKernel<Rule, kStates, P, G, S>,
                StridedGrid(CeilDiv(flat.count, kWide), kThreads), kThreads, stream, buffers, rule,
                flat.count);
}

template <int kStates, class Rule>
cudaError_t Update(const FlatParameters& flat, void* state0, void* state1, const Rule& rule,
                   cudaStream_t stream) {
  const bool aligned = IsAligned(flat.parameters) && IsAligned(flat.grads) &&
                       IsAligned(flat.compute_copy) && IsAligned(state0) && IsAligned(state1);
  const bool is_master = flat.parameter_type == Type::kF32;
  if (flat.count < 0 || !aligned ||
      (!is_master && (flat.grad_type == Type::kF32 || flat.compute_copy != nullptr))) {
    return cudaErrorInvalidValue;
  }
  if (flat.count == 0) {
    return cudaSuccess;
  }
  using Bf16 = __nv_bfloat16;
  if (!is_master) {
    return flat.fp32_moments
               ? LaunchUpdate<kStates, Bf16, Bf16, float>(flat, state0, state1, rule, stream)
               : LaunchUpdate<kStates, Bf16, Bf16, Bf16>(flat, state0, state1, rule, stream);
  }
  return flat.grad_type == Type::kF32
             ? LaunchUpdate<kStates, float, float, float>(flat, state0, state1, rule, stream)
             : LaunchUpdate<kStates, float, Bf16, float>(flat, state0, state1, rule, stream);
}

}  // namespace

cudaError_t AdamW(const FlatParameters& flat, void* first_moments, void* second_moments,
                  const AdamWStep& step, cudaStream_t stream) {
  return Update<2>(flat, first_moments, second_moments, AdamWRule{FactorsOf(step)}, stream);
}

cudaError_t Sgd(const FlatParameters& flat, void* momenta, const SgdStep& step,
                cudaStream_t stream) {
  const SgdRule rule{static_cast<float>(step.lr), static_cast<float>(step.momentum),
                     static_cast<float>(step.weight_decay)};
  return momenta != nullptr ? Update<1>(flat, momenta, nullptr, rule, stream)
                            : Update<0>(flat, nullptr, nullptr, rule, stream);
}

}  // namespace trainctl::ops::fused
