#include "common/estimate/memory_state.h"
#include "common/job/optimizer.h"

namespace trainctl::job {
namespace {

constexpr double kNf4Bits = 4 + 32.0 / 64;  // codes, an fp32 scale for each 64
constexpr double kNf4DqBits =
    4 + 8.0 / 64 +
    32.0 / (64 * 256);  // the scale as an 8-bit code, an fp32 scale for each 256 of those
constexpr double k8BitStateBytes = 1 + 4.0 / 256;  // a code, an fp32 scale for each 256
constexpr int64_t kHostBytes = 3 * kFp32Bytes;     // master and two moments of the CPU optimizer

int64_t QuantizedBytes(const JobSpec& job, int64_t elements) {
  const double bits = job.quantize == Quantize::kNf4Dq ? kNf4DqBits : kNf4Bits;
  return static_cast<int64_t>(static_cast<double>(elements) * bits / 8);
}

int64_t TrainableBytes(const MemorySetting& s) {
  if (s.job.offload_optimizer) return s.compute_bytes;
  return s.storage_bytes + (s.is_mixed() ? kBf16Bytes : 0);
}

// A state in 8 bits, of the elements that this rank holds.
int64_t EightBitBytes(const MemorySetting& s, const UnitElements& unit) {
  const int64_t held = s.TrainableHeld(unit);
  const int64_t small = s.shards_trainable ? s.ShardOf(unit.trainable_small) : unit.trainable_small;
  return static_cast<int64_t>(k8BitStateBytes * static_cast<double>(held - small)) +
         kFp32Bytes * small;
}

// Of one state.
int64_t StateBytes(const MemorySetting& s, const UnitElements& unit) {
  switch (StateFormOf(s.job.optimizer)) {
    case StateForm::kNone: return 0;
    case StateForm::kAsMasters: return s.storage_bytes * s.TrainableHeld(unit);
    case StateForm::kEightBit: return EightBitBytes(s, unit);
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
  return InfoOf(s.job.optimizer.name).states *
         SumOverUnits(s.units, [&](const UnitElements& unit) { return StateBytes(s, unit); });
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
