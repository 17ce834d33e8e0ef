// Mapped files to the device at the speed of memory: threads copy parts into a ring of pinned
// buffers, from where the device takes them while the next are copied. (A copy from pageable memory
// stages through one small buffer of the driver's, on one thread.) Pinned memory: kBufferBytes ×
// kBuffers, 512 MiB.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace trainctl::train {

constexpr int64_t kReadAheadBytes = int64_t{64} << 20;
constexpr size_t kReadAheadBuffers = 8;

// Calls consume(i, bytes) for every part in order. bytes are the part's, as a uint8 tensor on the
// device. They are valid for work enqueued on the current stream during the call. No part is larger
// than kReadAheadBytes (CHECK). On the CPU the bytes are the mapped ones themselves.
void ReadAhead(const std::vector<std::span<const std::byte>>& parts, at::Device device,
               const std::function<void(size_t index, const at::Tensor& bytes)>& consume);

}  // namespace trainctl::train
