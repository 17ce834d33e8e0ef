#include "worker/rank/process/counting_allocator.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace trainctl::train {
namespace {

// Tensors are aligned to this; the block's size stands in front of the tensor, in a header of the
// same width.
constexpr size_t kHeaderBytes = 64;

void RaiseTo(std::atomic<int64_t>& most, int64_t value) {
  int64_t old = most;
  while (value > old && !most.compare_exchange_weak(old, value)) {
  }
}

// Resident anonymous bytes, from /proc/self/statm: "size resident shared …" in pages, of which
// shared are files' and shared memory's.
int64_t HeldByProcess() {
  long long size = 0, resident = 0, shared = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr) return 0;
  const int read = std::fscanf(file, "%lld %lld %lld", &size, &resident, &shared);
  std::fclose(file);
  return read == 3 ? (resident - shared) * sysconf(_SC_PAGESIZE) : 0;
}

class CountingAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    if (bytes == 0) return {nullptr, nullptr, &Free, c10::Device(c10::kCPU)};
    Count(static_cast<int64_t>(bytes));
    void* block = nullptr;
    if (posix_memalign(&block, kHeaderBytes, kHeaderBytes + bytes) != 0) {
      allocated_ -= static_cast<int64_t>(bytes);
      Refuse(static_cast<int64_t>(bytes), "the host has no more memory");
    }
    std::memcpy(block, &bytes, sizeof bytes);
    void* data = static_cast<char*>(block) + kHeaderBytes;
    return {data, data, &Free, c10::Device(c10::kCPU)};
  }

  c10::DeleterFnPtr raw_deleter() const override { return &Free; }

  void copy_data(void* to, const void* from, size_t bytes) const override {
    std::memcpy(to, from, bytes);
  }

  std::atomic<int64_t> limit_{0}, allocated_{0}, peak_{0}, refused_{0}, allocated_at_refusal_{0};
  std::atomic<int64_t> most_held_{0};

 private:
  static void Free(void* data);

  void Count(int64_t bytes) {
    const int64_t now = allocated_ += bytes;
    const int64_t limit = limit_;
    if (limit > 0 && now > limit) {
      allocated_ -= bytes;
      Refuse(bytes, "limit " + std::to_string(limit) + " bytes, " + std::to_string(now - bytes) +
                        " allocated");
    }
    RaiseTo(peak_, now);
  }

  [[noreturn]] void Refuse(int64_t bytes, const std::string& why) {
    refused_ = bytes;
    allocated_at_refusal_ = allocated_.load();
    TORCH_CHECK_WITH(OutOfMemoryError, false, "CPU out of memory: tried to allocate ", bytes,
                     " bytes; ", why);
    std::abort();
  }
};

CountingAllocator& Installed() {
  static auto* allocator =
      new CountingAllocator;  // never destroyed: tensors of static storage may outlive main
  return *allocator;
}

void CountingAllocator::Free(void* data) {
  if (data == nullptr) return;
  void* block = static_cast<char*>(data) - kHeaderBytes;
  size_t bytes = 0;
  std::memcpy(&bytes, block, sizeof bytes);
  Installed().allocated_ -= static_cast<int64_t>(bytes);
  std::free(block);
}

}  // namespace

void InstallCountingAllocator(int64_t limit_bytes) {
  // Blocks of a step come back in the next one: keep them in the heap instead of mapping and
  // zeroing pages again.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, -1);
  Installed().limit_ = limit_bytes;
  c10::SetCPUAllocator(&Installed(), /*priority=*/255);
}

AllocatorStats CountedCpuMemory() {
  std::atomic<int64_t>& most_held = Installed().most_held_;
  RaiseTo(most_held, HeldByProcess());
  return {Installed().allocated_, Installed().peak_, most_held};
}

void ResetCountedPeak() {
  Installed().peak_ = Installed().allocated_.load();
  Installed().most_held_ = HeldByProcess();
}

Refusal LastCpuRefusal() { return {Installed().refused_, Installed().allocated_at_refusal_}; }

}  // namespace trainctl::train
