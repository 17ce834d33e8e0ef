#include "worker/rank/ops/dropout.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>

#include "worker/rank/ops/philox.h"

namespace trainctl::ops {
namespace {

constexpr double kSteps = 65'536;
constexpr int64_t kRowsATask = 16;

// Elements [first, first + keep.size()) of one sample.
void FillRow(const DropoutMask& mask, int64_t sample, int64_t first, int64_t columns, bool* keep) {
  for (int64_t element = first; element < first + columns;) {
    const base::PhiloxWords words =
        DropoutWords(static_cast<uint64_t>(mask.rows.seed), static_cast<uint64_t>(sample),
                     mask.module, element / kDropoutGroup);
    const int64_t end = std::min(first + columns, (element / kDropoutGroup + 1) * kDropoutGroup);
    for (; element < end; ++element)
      *keep++ = DropoutKeeps(words, static_cast<int>(element % kDropoutGroup), mask.threshold());
  }
}

}  // namespace

uint32_t DropoutMask::threshold() const {
  return static_cast<uint32_t>(std::min(std::round(probability * kSteps), kSteps - 1));
}

double DropoutMask::scale() const { return kSteps / (kSteps - threshold()); }

at::Tensor KeepMask(const DropoutMask& mask, int64_t count, int64_t columns) {
  const at::Tensor keep = at::empty({count, columns}, at::TensorOptions().dtype(at::kBool));
  const int64_t* samples = mask.rows.samples.const_data_ptr<int64_t>();
  bool* data = keep.data_ptr<bool>();
  at::parallel_for(0, count, kRowsATask, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = mask.first_row + i;
      FillRow(mask, samples[row / mask.rows.length], row % mask.rows.length * columns, columns,
              data + i * columns);
    }
  });
  return keep;
}

}  // namespace trainctl::ops
