// Where rows begin that share sequences: neighbours that do not see each other.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace trainctl::ops {

// Immutable, thread-safe.
struct Segments {
  std::vector<int64_t> begins;  // of each among the N positions of a micro batch, and N
  int64_t longest = 0;
  at::Tensor offsets;    // the same begins [segments + 1] int32, on the device
  at::Tensor positions;  // [N] int64, on the device: of each within its segment

  int64_t size() const { return std::ssize(begins) - 1; }
  int64_t length(int64_t segment) const { return begins[segment + 1] - begins[segment]; }
};

// CHECKs that begins ascend from 0. Does not wait for the device.
std::shared_ptr<const Segments> MakeSegments(std::vector<int64_t> begins, at::Device device);

}  // namespace trainctl::ops
