#include "common/estimate/memory_forward.h"

#include <algorithm>

#include "common/estimate/memory_activations.h"
#include "common/estimate/memory_reference.h"
#include "common/estimate/memory_state.h"
#include "common/estimate/memory_step.h"
#include "common/estimate/reference_rows.h"

namespace trainctl::job {
namespace {

constexpr int64_t kTokenIdBytes = 8;

}  // namespace

int64_t RowBytes(const MemorySetting& s) {
  return s.positions * (2 * kTokenIdBytes + kFp32Bytes * s.model.head_dim);
}

int64_t BlockInForward(const MemorySetting& s) {
  const int64_t quantized = s.units.block.quantized;
  const int64_t largest = s.model.intermediate * s.model.hidden;
  const int64_t wide = s.positions * (3 * s.model.intermediate + 2 * s.model.hidden) + 2 * largest;
  return BlockActivations(s) + 2 * HiddenBytes(s) + s.WindowPieceBytes() +
         s.positions * s.compute_bytes * s.model.intermediate + quantized * s.compute_bytes +
         (quantized > 0 ? UnpackingBytes(largest) : 0) + (s.widens() ? wide * kFp32Bytes : 0);
}

int64_t GatheredInForward(const MemorySetting& s) {
  if (s.residency != Residency::kUse) return AllGatheredBytes(s);
  const int64_t block = GatheredBytes(s, s.units.block);
  return block +
         std::max({block, GatheredBytes(s, s.units.embedding), GatheredBytes(s, s.units.head)});
}

int64_t PeakOfValidation(const MemorySetting& s) {
  const int64_t of_step = PeakOfStep(s);
  if (s.model.image) return of_step;  // encoders have work of their own
  const int64_t block = s.is_reference ? ReferenceBlockForward(s) : BlockInForward(s);
  const int64_t head = s.is_reference ? ReferenceHeadForward(s) : 2 * HiddenBytes(s) + HeadWork(s);
  return std::min(of_step, RowBytes(s) + std::max(block, head) + GatheredInForward(s));
}

}  // namespace trainctl::job
