// Keys and values of the texts that a model continues, so that each position is computed once.
// Memory is taken as layers come to hold something. Not thread-safe.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "worker/rank/ops/kernels.h"

namespace trainctl::ops {

// Positions [first, first + count) of one text.
struct TextSpan {
  int64_t text = 0;
  int64_t first = 0;
  int64_t count = 0;

  int64_t end() const { return first + count; }
};

class KvCache {
 public:
  // capacities: positions of each text.
  KvCache(int64_t layers, std::vector<int64_t> capacities);

  // What the rows of the forward that comes are: these spans, one behind the other. All earlier
  // positions of their texts are held.
  void Begin(std::vector<TextSpan> spans, at::Device device);
  const std::vector<TextSpan>& spans() const { return spans_; }
  // Of those rows [N] int64, on the device.
  const at::Tensor& positions() const { return positions_; }

  // Keeps keys and values of the rows, qkv [N, packed] (rotated already); what each attends to in
  // its own text → [N, heads · D].
  at::Tensor Attend(int64_t layer, const at::Tensor& qkv, const HeadShape& shape,
                    bool deterministic);

 private:
  struct Entry {
    at::Tensor k, v;  // [kv_heads, capacity, D]
  };

  at::Tensor AttendSpan(Entry& entry, const TextSpan& span, const at::Tensor& qkv,
                        const HeadShape& shape, bool deterministic) const;
  at::Tensor AttendPast(const Entry& entry, const TextSpan& span, const at::Tensor& q,
                        const HeadShape& shape) const;

  const std::vector<int64_t> capacities_;
  std::vector<std::vector<Entry>> entries_;  // by layer, by text
  std::vector<TextSpan> spans_;
  at::Tensor positions_;
};

// One layer's place in a cache. cache null: rows attend to each other alone.
struct CachedLayer {
  KvCache* cache = nullptr;
  int64_t layer = 0;
};

}  // namespace trainctl::ops
