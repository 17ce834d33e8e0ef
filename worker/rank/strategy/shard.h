// A rank's part of a flat buffer: elements [begin, begin + numel) of the whole. Pure.
#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdint>

namespace trainctl::strategy {

struct Range {
  int64_t begin = 0;
  int64_t numel = 0;

  int64_t end() const { return begin + numel; }
};

inline Range Intersect(const Range& a, const Range& b) {
  const int64_t begin = std::max(a.begin, b.begin);
  return {begin, std::max<int64_t>(0, std::min(a.end(), b.end()) - begin)};
}

// Copies the part of `values` that lies in the shard, which begins at element shard_begin. `values`
// belong at element `offset` of the whole buffer.
inline void CopyIntoShard(const at::Tensor& shard, int64_t shard_begin, int64_t offset,
                          const at::Tensor& values) {
  const Range common = Intersect({shard_begin, shard.numel()}, {offset, values.numel()});
  if (common.numel == 0) return;
  shard.narrow(0, common.begin - shard_begin, common.numel)
      .copy_(values.reshape({-1}).narrow(0, common.begin - offset, common.numel));
}

}  // namespace trainctl::strategy
