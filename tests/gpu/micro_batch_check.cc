// On a GPU: micro batches are copied to the device without waiting for what it still has to do.
// They arrive whole although their host memory is used again. Exit status 77 if there is no GPU, 1
// if a check failed.
#include <ATen/ops/empty.h>
#include <c10/core/GradMode.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>

#include <cstdio>
#include <numeric>
#include <vector>

#include "tests/gpu/kernel_compare.h"
#include "tests/gpu/kernel_device.h"
#include "worker/rank/train/micro_batches.h"

namespace trainctl::gpu {
namespace {

constexpr int64_t kRows = 64, kLength = 512;

data::Dataset Rows() {
  std::vector<int32_t> tokens(kRows * kLength);
  std::iota(tokens.begin(), tokens.end(), 1);
  data::Dataset dataset{.tokens = data::TokenStore(std::move(tokens))};
  for (int64_t row = 0; row < kRows; ++row) {
    dataset.rows.push_back({row * kLength, kLength, 0});
    dataset.train.push_back(row);
  }
  return dataset;
}

int Run() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("no GPU: nothing was checked\n");
    return 77;
  }
  const c10::NoGradGuard no_grad;
  Checks checks;
  const data::Dataset dataset = Rows();
  const job::BatchPlan plan{.micro = 2, .devices = 1, .accumulation = 16, .global = 32};
  train::MicroBatches on_device(dataset, plan, {.seed = 3}, 0, at::Device(at::kCUDA, 0));
  train::MicroBatches on_host(dataset, plan, {.seed = 3}, 0, at::kCPU);
  on_device.Training(0, 0);  // what is made once
  c10::cuda::device_synchronize();

  const at::Tensor busy = at::empty({int64_t{1} << 31}, On(at::kByte));
  for (int i = 0; i < 400; ++i) busy.fill_(i % 200);
  std::vector<model::MicroBatch> batches;
  for (int64_t k = 0; k < plan.accumulation; ++k) batches.push_back(on_device.Training(0, k));
  checks.True("micro batches do not wait for the stream",
              !c10::cuda::getCurrentCUDAStream().query());
  for (int64_t k = 0; k < plan.accumulation; ++k) {
    const model::MicroBatch expected = on_host.Training(0, k);
    const size_t at = static_cast<size_t>(k);
    checks.Equal("inputs", batches[at].inputs.cpu(), expected.inputs);
    checks.Equal("targets", batches[at].targets.cpu(), expected.targets);
  }
  std::printf("micro batches: %d checks, %d failed\n", checks.done(), checks.failed());
  return checks.failed() == 0 ? 0 : 1;
}

}  // namespace
}  // namespace trainctl::gpu

int main() { return trainctl::gpu::Run(); }
