#include "worker/rank/ops/segments.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "common/base/check.h"

namespace trainctl::ops {
namespace {

at::Tensor Pinned(int64_t count, at::ScalarType type, at::Device device) {
  return at::empty({count}, at::TensorOptions().dtype(type).pinned_memory(device.is_cuda()));
}

}  // namespace

std::shared_ptr<const Segments> MakeSegments(std::vector<int64_t> begins, at::Device device) {
  CHECK(begins.size() > 1 && begins.front() == 0) << begins.size();
  auto segments = std::make_shared<Segments>();
  segments->begins = std::move(begins);
  const at::Tensor offsets = Pinned(segments->size() + 1, at::kInt, device),
                   positions = Pinned(segments->begins.back(), at::kLong, device);
  std::ranges::copy(segments->begins, offsets.mutable_data_ptr<int32_t>());
  int64_t* next = positions.mutable_data_ptr<int64_t>();
  for (int64_t i = 0; i < segments->size(); ++i) {
    const int64_t length = segments->length(i);
    CHECK(length > 0) << "segment " << i << " has " << length << " positions";
    std::iota(next, next + length, 0);
    next += length;
    segments->longest = std::max(segments->longest, length);
  }
  segments->offsets = offsets.to(device, /*non_blocking=*/true);
  segments->positions = positions.to(device, /*non_blocking=*/true);
  return segments;
}

}  // namespace trainctl::ops
