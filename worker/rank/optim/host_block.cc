#include "worker/rank/optim/host_block.h"

#include <c10/cuda/CUDAException.h>
#include <cuda_runtime_api.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>
#include <vector>

#include "worker/rank/optim/allowed_cpus.h"
#include "worker/rank/optim/host_memory.h"

namespace trainctl::optim {
namespace {

constexpr int64_t kPage = 4096;
constexpr int64_t kPopulatedByOne = 64 << 20;  // bytes that are worth a thread
constexpr int64_t kMostThreads = 16;

void Touch(volatile char* from, int64_t bytes) {
  for (int64_t at = 0; at < bytes; at += kPage) from[at] = 0;
}

}  // namespace

HostBlock::HostBlock(int64_t bytes, c10::Device device, bool pinned, const std::string& what)
    : bytes_(bytes) {
  RequireHostMemory(bytes, what);
  if (bytes == 0) return;
  void* mapped = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) {
    throw HostMemoryError("out of host memory: " + what + ": mapping " + std::to_string(bytes) +
                          " bytes: " + std::strerror(errno));
  }
  data_ = mapped;
  madvise(data_, static_cast<size_t>(bytes), MADV_HUGEPAGE);  // a wish
  Populate(device);
  if (!pinned || !device.is_cuda()) return;
  if (const cudaError_t error =
          cudaHostRegister(data_, static_cast<size_t>(bytes), cudaHostRegisterPortable);
      error != cudaSuccess) {
    munmap(data_, static_cast<size_t>(bytes_));
    if (error != cudaErrorMemoryAllocation) C10_CUDA_CHECK(error);
    cudaGetLastError();  // taken note of
    throw HostMemoryError("out of host memory: " + what + ": CUDA can't pin " +
                          std::to_string(bytes) + " bytes");
  }
  registered_ = true;
}

HostBlock::~HostBlock() {
  if (registered_) cudaHostUnregister(data_);
  if (data_ != nullptr) munmap(data_, static_cast<size_t>(bytes_));
}

void HostBlock::Populate(c10::Device device) const {
  const int64_t cpus = device.is_cuda() ? AllowedCpus() : 1;
  const int64_t most = std::clamp<int64_t>(cpus, 1, kMostThreads);
  const int64_t threads = std::clamp<int64_t>(bytes_ / kPopulatedByOne, 1, most);
  const int64_t share = (bytes_ / threads + kPage) / kPage * kPage;
  std::vector<std::thread> running;
  for (int64_t begin = 0; begin < bytes_; begin += share) {
    running.emplace_back([this, begin, share] {
      Touch(static_cast<char*>(data_) + begin, std::min(share, bytes_ - begin));
    });
  }
  for (std::thread& thread : running) thread.join();
}

}  // namespace trainctl::optim
