#include "worker/rank/ops/kv_cache.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/softmax.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "common/base/check.h"
#include "worker/rank/ops/attention.h"

namespace trainctl::ops {

KvCache::KvCache(int64_t layers, std::vector<int64_t> capacities)
    : capacities_(std::move(capacities)),
      entries_(layers, std::vector<Entry>(capacities_.size())) {}

void KvCache::Begin(std::vector<TextSpan> spans, at::Device device) {
  std::vector<at::Tensor> positions;
  for (const TextSpan& span : spans) {
    CHECK(span.first + span.count <= capacities_[span.text])
        << "text " << span.text << ": " << span.first << " + " << span.count << " positions of "
        << capacities_[span.text];
    positions.push_back(at::arange(span.first, span.first + span.count, at::kLong));
  }
  spans_ = std::move(spans);
  positions_ = at::cat(positions).to(device);
}

at::Tensor KvCache::Attend(int64_t layer, const at::Tensor& qkv, const HeadShape& shape,
                           bool deterministic) {
  std::vector<at::Tensor> rows;
  int64_t row = 0;
  for (const TextSpan& span : spans_) {
    Entry& entry = entries_[layer][span.text];
    if (!entry.k.defined()) {
      const std::vector<int64_t> sizes{shape.kv_heads, capacities_[span.text], shape.head_dim};
      entry = {at::empty(sizes, qkv.options()), at::empty(sizes, qkv.options())};
    }
    rows.push_back(AttendSpan(entry, span, qkv.narrow(0, row, span.count), shape, deterministic));
    row += span.count;
  }
  return rows.size() == 1 ? rows[0] : at::cat(rows);
}

at::Tensor KvCache::AttendSpan(Entry& entry, const TextSpan& span, const at::Tensor& qkv,
                               const HeadShape& shape, bool deterministic) const {
  const at::Tensor heads =
      qkv.view({span.count, shape.heads + 2 * shape.kv_heads, shape.head_dim}).transpose(0, 1);
  entry.k.narrow(1, span.first, span.count).copy_(heads.narrow(0, shape.heads, shape.kv_heads));
  entry.v.narrow(1, span.first, span.count)
      .copy_(heads.narrow(0, shape.heads + shape.kv_heads, shape.kv_heads));
  // The beginning of a text is what training computes.
  if (span.first == 0) {
    HeadShape own = shape;
    own.batch = 1;
    own.length = span.count;
    return Attention(qkv, own, deterministic).first;
  }
  return AttendPast(entry, span, heads.narrow(0, 0, shape.heads), shape);
}

// q [heads, count, D]. Scores and their softmax are fp32 or wider.
at::Tensor KvCache::AttendPast(const Entry& entry, const TextSpan& span, const at::Tensor& q,
                               const HeadShape& shape) const {
  const int64_t end = span.first + span.count;
  const int64_t window = shape.window;
  const int64_t begin = window == 0 ? 0 : std::max<int64_t>(0, span.first + 1 - window);
  const int64_t group = shape.heads / shape.kv_heads;
  const at::Tensor k = entry.k.narrow(1, begin, end - begin).unsqueeze(1),
                   v = entry.v.narrow(1, begin, end - begin).unsqueeze(1);
  const double scale = ScaleOf(shape);
  const at::Tensor queries = q.reshape({shape.kv_heads, group, span.count, shape.head_dim});
  at::Tensor scores = at::matmul(queries, k.transpose(2, 3));
  scores = scores.to(scores.scalar_type() == at::kDouble ? at::kDouble : at::kFloat) * scale;
  if (span.count > 1) {
    const auto index = at::TensorOptions().device(q.device()).dtype(at::kLong);
    const at::Tensor from = at::arange(span.first, end, index).unsqueeze(1),
                     to = at::arange(begin, end, index);
    at::Tensor hidden = to > from;
    if (window > 0) hidden = hidden.logical_or(to <= from - window);
    scores.masked_fill_(hidden, -std::numeric_limits<double>::infinity());
  }
  return at::matmul(at::softmax(scores, -1).to(q.scalar_type()), v)
      .reshape({shape.heads, span.count, shape.head_dim})
      .transpose(0, 1)
      .reshape({span.count, shape.heads * shape.head_dim});
}

}  // namespace trainctl::ops
