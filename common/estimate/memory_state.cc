#include "common/estimate/memory_state.h"

#include <algorithm>

#include "common/job/optimizer.h"

namespace trainctl::job {
namespace {

constexpr double kNf4Bits = 4 + 32.0 / 64;  // codes, an fp32 scale for each 64
constexpr double kNf4DqBits =
    4 + 8.0 / 64 +
    32.0 / (64 * 256);  // the scale as an 8-bit code, an fp32 scale for each 256 of those
constexpr int64_t kCodesOfScale = 256;          // 8-bit codes, with an fp32 scale for all
constexpr int64_t kHostBytes = 3 * kFp32Bytes;  // master and two moments of the CPU optimizer

int64_t QuantizedBytes(const JobSpec& job, int64_t elements) {
  const double bits = job.quantize == Quantize::kNf4Dq ? kNf4DqBits : kNf4Bits;
  return static_cast<int64_t>(static_cast<double>(elements) * bits / 8);
}

int64_t TrainableBytes(const MemorySetting& s) {
  if (s.job.offload_optimizer) return s.compute_bytes;
  return s.storage_bytes + (s.is_mixed() ? kBf16Bytes : 0);
}

// A state in 8 bits, of what the rank holds of the unit.
int64_t EightBitBytes(const MemorySetting& s, const UnitElements& unit, int64_t rank) {
  int64_t bytes = 0;
  for (const StateRun& run : s.StateRunsOf(unit, rank)) {
    bytes += run.is_small ? kFp32Bytes * run.elements
                          : run.elements + kFp32Bytes * run.elements / kCodesOfScale;
  }
  return bytes;
}

// Of one state of all units, on the rank that holds most. The others' shards of a unit may have
// fewer small tensors, or less padding.
int64_t StateBytes(const MemorySetting& s) {
  const auto of_rank = [&](int64_t rank) {
    return SumOverUnits(s.units,
                        [&](const UnitElements& unit) { return EightBitBytes(s, unit, rank); });
  };
  switch (StateFormOf(s.job.optimizer)) {
    case StateForm::kNone: return 0;
    case StateForm::kAsMasters:
      return s.storage_bytes *
             SumOverUnits(s.units, [&](const UnitElements& unit) { return s.TrainableHeld(unit); });
    case StateForm::kEightBit: {
      int64_t most = 0;
      for (int64_t rank = 0; rank < s.ranks_that_differ(); ++rank)
        most = std::max(most, of_rank(rank));
      return most;
    }
  }
  return 0;
}

}  // namespace

int64_t HeldParameterBytes(const MemorySetting& s) {
  return SumOverUnits(s.units, [&](const UnitElements& unit) {
    return TrainableBytes(s) * s.TrainableHeld(unit) + s.compute_bytes * s.ShardOf(unit.frozen) +
           QuantizedBytes(s.job, unit.quantized);
  });
}

int64_t OptimizerBytes(const MemorySetting& s) {
  if (s.job.offload_optimizer) return 0;
  return InfoOf(s.job.optimizer.name).states * StateBytes(s);
}

int64_t HostOptimizerBytes(const MemorySetting& s) {
  if (!s.job.offload_optimizer) return 0;
  return kHostBytes *
         SumOverUnits(s.units, [&](const UnitElements& unit) { return s.TrainableHeld(unit); });
}

int64_t GatheredBytes(const MemorySetting& s, const UnitElements& unit) {
  if (!s.is_fsdp) return 0;
  const int64_t trainable = s.shards_trainable ? s.ShardOf(unit.trainable) : 0;
  return s.compute_bytes * s.world * (trainable + s.ShardOf(unit.frozen));
}

int64_t AllGatheredBytes(const MemorySetting& s) {
  return SumOverUnits(s.units, [&](const UnitElements& unit) { return GatheredBytes(s, unit); });
}

}  // namespace trainctl::job
