// Memory of the host for what an offloaded optimizer keeps there. It has exactly the size that was
// asked for: c10's pinned allocator rounds up to powers of two.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <string>

namespace trainctl::optim {

class HostBlock {
 public:
  // Zeros, page-aligned, on huge pages if the kernel gives them. Threads near `device` populate the
  // pages, so that they lie on its NUMA node. pinned: registered with CUDA, so that the device
  // copies to and from it without a detour (not on CPU slots). Throws HostMemoryError, before
  // anything is allocated, if the host or the cgroup has not that much left.
  HostBlock(int64_t bytes, c10::Device device, bool pinned, const std::string& what);
  ~HostBlock();
  HostBlock(const HostBlock&) = delete;
  HostBlock& operator=(const HostBlock&) = delete;

  void* data() const { return data_; }

 private:
  void Populate(c10::Device device) const;

  int64_t bytes_;
  void* data_ = nullptr;
  bool registered_ = false;
};

}  // namespace trainctl::optim
