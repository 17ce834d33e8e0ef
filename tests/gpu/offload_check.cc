// On a GPU: AdamW in host memory against the fused kernel with fp32 states on the device, whose
// arithmetic is the same. Gradients are read when they are ready and not before, and let go of.
// Then the rate of the whole pipeline over four of OpenLLaMA 7B's blocks (10 GB of host memory).
// Beside it stands the copies' own; cpu_adam_bench has the CPU's. Exit status 77 if there is no
// GPU, 1 if a check failed.
//
// gpu_offload_check [--no-timing] [THREADS]        (all CPUs that this process may use)
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <c10/cuda/CUDAFunctions.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/gpu/kernel_compare.h"
#include "tests/gpu/kernel_device.h"
#include "worker/rank/optim/adam_kernel.h"
#include "worker/rank/optim/allowed_cpus.h"
#include "worker/rank/optim/host_tensor.h"
#include "worker/rank/optim/optimizer.h"

namespace trainctl::gpu {
namespace {

constexpr int64_t kBlockParameters = 202'383'360;  // of one transformer block of 7B
constexpr int64_t kTimedUnits = 4;
const at::Device kDevice(at::kCUDA, 0);

struct Types {
  at::ScalarType grad, compute;
};
constexpr Types kTypes[] = {
    {at::kBFloat16, at::kBFloat16}, {at::kFloat, at::kBFloat16}, {at::kFloat, at::kFloat}};

job::OptimizerSpec Spec() {
  job::OptimizerSpec spec;
  spec.weight_decay = 0.1;
  return spec;
}

std::unique_ptr<optim::Optimizer> Offloaded(const std::vector<optim::FlatBuffer>& buffers,
                                            int64_t threads) {
  return optim::MakeOptimizer(
      {.spec = Spec(), .offload = true, .threads = threads, .device = kDevice}, buffers);
}

struct Unit {
  at::Tensor host_master, device_master, compute, device_copy;
};

Unit MakeUnit(int64_t numel, at::ScalarType compute) {
  Unit unit;
  unit.device_master = Random({numel}, at::kFloat);
  unit.host_master = optim::HostTensor(numel, kDevice);
  unit.host_master.copy_(unit.device_master);
  unit.compute = at::zeros({numel}, On(compute));
  if (compute == at::kBFloat16) unit.device_copy = at::zeros({numel}, On(compute));
  return unit;
}

// Five steps of three units, on the host and on the device.
void CheckAgainstTheDevice(Checks& checks, const Types& types, bool scaled, int64_t threads) {
  const std::string name = std::string(types.grad == at::kBFloat16 ? "bf16" : "fp32") +
                           " gradients, " + (types.compute == at::kBFloat16 ? "bf16" : "fp32") +
                           " copies" + (scaled ? ", clipped" : "");
  std::vector<Unit> units;
  std::vector<optim::FlatBuffer> host, device;
  for (const int64_t numel : {30'000'128, 256, 5'000'192}) {
    units.push_back(MakeUnit(numel, types.compute));
    host.push_back({units.back().host_master, {}});
    device.push_back({units.back().device_master, {}});
  }
  const auto offloaded = Offloaded(host, threads);
  const auto fused = optim::MakeOptimizer({.spec = Spec()}, device);
  for (int64_t step = 1; step <= 5; ++step) {
    const optim::StepRates rates{
        .step = step,
        .lr = 1e-2,
        .grad_scale = scaled ? at::full({}, 0.3, On(at::kFloat)) : at::Tensor()};
    for (size_t i = 0; i < units.size(); ++i) {
      const at::Tensor grad = Random(units[i].host_master.sizes(), types.grad);
      fused->Update(
          i,
          {units[i].device_master, grad.to(at::kFloat, false, /*copy=*/true), units[i].device_copy},
          rates);
      offloaded->Update(i, {units[i].host_master, grad, units[i].compute}, rates);
    }
    offloaded->Finish();
  }
  for (size_t i = 0; i < units.size(); ++i) {
    const at::Tensor compute = units[i].compute.clone();  // on the current stream: after all copies
    const at::Tensor master = units[i].host_master.to(kDevice);
    checks.Near(name + ": masters", master, units[i].device_master.to(at::kDouble), 1e-6);
    checks.Equal(name + ": copies", compute, master.to(types.compute));
    for (size_t s = 0; s < 2; ++s) {
      checks.Near(name + ": moments", offloaded->State(i)[s].values.to(kDevice),
                  fused->State(i)[s].values.to(at::kDouble), 1e-6);
    }
  }
}

// The current stream writes the gradient long after Update was called. It reads the copy right
// after Finish.
void CheckOrder(Checks& checks, int64_t threads) {
  constexpr int64_t kNumel = 20'000'000;
  const Unit unit = MakeUnit(kNumel, at::kBFloat16);
  const auto optimizer = Offloaded({{unit.host_master, {}}}, threads);
  const at::Tensor before = unit.host_master.clone(),
                   busy = at::empty({int64_t{1} << 31}, On(at::kByte));
  at::Tensor grad = at::zeros({kNumel}, On(at::kBFloat16));
  for (int i = 0; i < 200; ++i) busy.fill_(i);
  grad.fill_(1);
  optimizer->Update(0, {unit.host_master, grad, unit.compute},
                    {.step = 1, .lr = 0.5, .grad_scale = {}});
  optimizer->Finish();
  const at::Tensor seen = unit.compute.clone();
  // AdamW's first step is lr · sign of the gradient.
  checks.Near("a gradient is read when it is ready", unit.host_master,
              (before * (1 - 0.5 * 0.1) - 0.5).to(at::kDouble), 1e-6);
  checks.Equal("the copy is there after Finish", seen.cpu(), unit.host_master.to(at::kBFloat16));
  checks.True("the gradient was let go of", grad.use_count() == 1);
}

double SecondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double CopySeconds(const at::Tensor& to, const at::Tensor& from) {
  c10::cuda::device_synchronize();
  const auto begin = std::chrono::steady_clock::now();
  to.copy_(from, /*non_blocking=*/true);
  c10::cuda::device_synchronize();
  return SecondsSince(begin);
}

void Row(const char* name, double parameters, double seconds, double bytes_of_one) {
  std::printf("%-40s %9.1f ms %7.2f G parameters/s %7.1f GB/s\n", name, seconds * 1e3,
              parameters / seconds * 1e-9, parameters * bytes_of_one / seconds * 1e-9);
}

void TimePipeline(int64_t threads) {
  const auto total = static_cast<double>(kTimedUnits * kBlockParameters);
  std::vector<Unit> units;
  std::vector<optim::FlatBuffer> buffers;
  const auto made = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < kTimedUnits; ++i) {
    units.push_back({optim::HostTensor(kBlockParameters, kDevice),
                     {},
                     at::zeros({kBlockParameters}, On(at::kBFloat16)),
                     {}});
    buffers.push_back({units.back().host_master, {}});
  }
  const auto optimizer = Offloaded(buffers, threads);
  std::printf("%ld threads; host memory made in %.1f s\n", static_cast<long>(threads),
              SecondsSince(made));
  const at::Tensor half = units[0].host_master.view(at::kBFloat16).narrow(0, 0, kBlockParameters);
  Row("one block down", static_cast<double>(kBlockParameters), CopySeconds(half, units[0].compute),
      2);
  Row("one block up", static_cast<double>(kBlockParameters), CopySeconds(units[0].compute, half),
      2);
  units[0].host_master.zero_();
  for (int64_t step = 1; step <= 4; ++step) {
    c10::cuda::device_synchronize();
    const auto begin = std::chrono::steady_clock::now();
    for (int64_t i = 0; i < kTimedUnits; ++i) {
      optimizer->Update(static_cast<size_t>(i),
                        {units[i].host_master,
                         at::full({kBlockParameters}, 1e-3, On(at::kBFloat16)), units[i].compute},
                        {.step = step, .lr = 1e-5, .grad_scale = {}});
    }
    optimizer->Finish();
    c10::cuda::device_synchronize();
    Row("four blocks down, AdamW, up", total, SecondsSince(begin), 28);
  }
}

int Run(bool with_timing, int64_t threads) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("no GPU: nothing was checked\n");
    return 77;
  }
  const c10::NoGradGuard no_grad;
  Checks checks;
  for (const Types& types : kTypes) {
    for (const bool scaled : {false, true}) CheckAgainstTheDevice(checks, types, scaled, threads);
  }
  CheckOrder(checks, threads);
  std::printf("offloaded AdamW: %d checks, %d failed (%s)\n", checks.done(), checks.failed(),
              optim::AdamPaths().front().name);
  if (with_timing) TimePipeline(threads);
  return checks.failed() == 0 ? 0 : 1;
}

}  // namespace
}  // namespace trainctl::gpu

int main(int argc, char** argv) {
  bool with_timing = true;
  auto threads = trainctl::optim::AllowedCpus();
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--no-timing") == 0) {
      with_timing = false;
    } else {
      threads = std::max(1L, std::atol(argv[i]));
    }
  }
  return trainctl::gpu::Run(with_timing, threads);
}
