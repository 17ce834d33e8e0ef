// Bytes that tensors hold.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "worker/rank/strategy/strategy.h"

namespace trainctl::strategy {

inline int64_t Bytes(const at::Tensor& tensor) {
  return tensor.defined() ? static_cast<int64_t>(tensor.nbytes()) : 0;
}

inline int64_t Bytes(const std::vector<at::Tensor>& tensors) {
  int64_t bytes = 0;
  for (const at::Tensor& tensor : tensors) bytes += Bytes(tensor);
  return bytes;
}

inline int64_t Bytes(const std::vector<StateSlice>& slices) {
  int64_t bytes = 0;
  for (const StateSlice& slice : slices) bytes += Bytes(slice.values);
  return bytes;
}

}  // namespace trainctl::strategy
