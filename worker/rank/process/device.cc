#include "worker/rank/process/device.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/cuda/CUDAContextLight.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <atomic>

namespace trainctl::train {
namespace {

namespace cuda_allocator = c10::cuda::CUDACachingAllocator;

std::atomic<int64_t> refused_cuda_bytes{0}, allocated_at_cuda_refusal{0};

int64_t Of(const c10::CachingAllocator::StatArray& stats, bool peak) {
  const auto& total = stats[static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE)];
  return peak ? total.peak : total.current;
}

base::Error NoDevice(const std::string& why) { return {base::Code::kUnavailable, why}; }

}  // namespace

base::Result<RankDevice> RankDevice::Open(const job::RankPlan& plan) {
  RankDevice rank_device;
  at::set_num_threads(static_cast<int>(plan.threads));
  const int64_t limit = plan.job.resources.gpu_memory_limit_bytes.value_or(0);
  // With warn_only LibTorch's attention kernels would warn, and add in any order all the same.
  at::globalContext().setDeterministicAlgorithms(plan.job.deterministic, /*warn_only=*/false);
  if (plan.device == job::DeviceKind::kCpu) {
    InstallCountingAllocator(limit);
    rank_device.name_ = job::CpuSlotName(plan.threads);
    rank_device.limit_bytes_ = limit;
    return rank_device;
  }
  int count = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess) {
    return NoDevice("no CUDA device can be used: " + std::string(cudaGetErrorString(error)) +
                    " (CUDA 13 needs driver 580 or newer)");
  }
  if (plan.device_index >= count) {
    return NoDevice("CUDA device " + std::to_string(plan.device_index) +
                    " is not there: " + std::to_string(count) + " visible");
  }
  const auto index = static_cast<c10::DeviceIndex>(plan.device_index);
  c10::cuda::set_device(index);
  cudaDeviceProp properties{};
  if (const cudaError_t error = cudaGetDeviceProperties(&properties, index); error != cudaSuccess) {
    return NoDevice(cudaGetErrorString(error));
  }
  at::globalContext().lazyInitDevice(c10::kCUDA);
  const auto total = static_cast<int64_t>(properties.totalGlobalMem);
  if (limit > 0 && limit < total)
    cuda_allocator::setMemoryFraction(static_cast<double>(limit) / static_cast<double>(total),
                                      index);
  cuda_allocator::attachOutOfMemoryObserver([index](int64_t, size_t requested, size_t, size_t) {
    refused_cuda_bytes = static_cast<int64_t>(requested);
    allocated_at_cuda_refusal = Of(cuda_allocator::getDeviceStats(index).allocated_bytes, false);
  });
  rank_device.device_ = at::Device(c10::kCUDA, index);
  rank_device.name_ = properties.name;
  rank_device.limit_bytes_ = limit > 0 ? std::min(limit, total) : total;
  return rank_device;
}

AllocatorStats RankDevice::Memory() const {
  if (device_.is_cpu()) return CountedCpuMemory();
  const auto stats = cuda_allocator::getDeviceStats(device_.index());
  return {Of(stats.allocated_bytes, false), Of(stats.allocated_bytes, true),
          Of(stats.reserved_bytes, true)};
}

Refusal RankDevice::LastRefusal() const {
  if (device_.is_cpu()) return LastCpuRefusal();
  return {refused_cuda_bytes, allocated_at_cuda_refusal};
}

void RankDevice::ResetPeak() const {
  if (device_.is_cpu()) {
    ResetCountedPeak();
  } else {
    cuda_allocator::resetPeakStats(device_.index());
  }
}

void RankDevice::ReleaseCached() const {
  if (device_.is_cpu()) return;
  Synchronize();
  at::cuda::clearCublasWorkspaces();
  cuda_allocator::emptyCache();
}

void RankDevice::Synchronize() const {
  if (device_.is_cuda()) c10::cuda::device_synchronize();
}

}  // namespace trainctl::train
