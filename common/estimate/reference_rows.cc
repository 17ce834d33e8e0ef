#include "common/estimate/reference_rows.h"

#include "common/estimate/frozen_parts.h"

namespace trainctl::job {

ReferenceRows::ReferenceRows(const MemorySetting& s, int64_t rows, ModelPart part)
    : n(rows),
      e(s.compute_bytes),
      wide_input(e == kFp32Bytes ? 0 : kFp32Bytes),
      wide_operand(s.widens() ? kFp32Bytes : 0),
      is_cpu(s.is_cpu),
      trains(!IsFrozen(s.job, part)),
      adds_narrow(s.accumulates && s.storage_bytes == kBf16Bytes),
      drops(s.job.lora && s.job.lora->dropout > 0) {}

int64_t ReferenceRows::Product(int64_t in, int64_t out) const {
  return wide_operand == 0 ? 0
                           : wide_operand * (n * in + n * out + in * out) + kBf16Bytes * n * out;
}

int64_t ReferenceRows::WeightGrad(int64_t in, int64_t out) const {
  if (wide_operand == 0 || !trains) return 0;
  return wide_operand * (n * in + n * out + in * out) + (adds_narrow ? kBf16Bytes * in * out : 0);
}

int64_t ReferenceRows::Added(int64_t in, int64_t out) const {
  if (!is_cpu) return 0;
  return Wide(out) + wide_operand * (n * in + n * out + in * out);
}

int64_t ReferenceRows::NormBackward(int64_t width) const {
  return n * width * (kFp32Bytes * kNormBackward + wide_input);
}

int64_t ReferenceRows::NormForward(int64_t width) const {
  return n * width * (2 * kFp32Bytes + wide_input);
}

int64_t ReferenceRows::Dropped(int64_t width) const {
  constexpr int64_t kMask = 1 + kFp32Bytes;  // and as a factor
  return n * width * (kFp32Bytes + kMask + wide_input);
}

int64_t ReferenceRows::AdapterInputGrad(int64_t width) const {
  if (drops) return Kept(width) + Dropped(width);
  return is_cpu ? n * width * (kFp32Bytes + wide_operand) : 0;
}

int64_t UnpackingBytes(int64_t elements) { return kFp32Bytes * kDequantize * elements; }

}  // namespace trainctl::job
