#include "common/estimate/memory_encoder.h"

namespace trainctl::job {
namespace {

bool IsCheckpointedUnit(const MemorySetting& s, size_t unit) {
  const std::vector<EncoderElements>& units = s.units.encoder;
  const int64_t every = s.job.activation_checkpointing;
  if (every == 0 || !units[unit].is_block) return false;
  // Blocks are counted anew in each stack.
  int64_t number = 0;
  for (size_t i = unit; i > 0 && units[i - 1].is_block; --i) ++number;
  return number % every == 0;
}

int64_t UnitOutputBytes(const MemorySetting& s, const EncoderElements& unit) {
  return s.samples * s.compute_bytes * unit.positions * unit.width;
}

int64_t WholeSaved(const MemorySetting& s, const EncoderElements& unit) {
  const int64_t adapters = s.job.lora ? s.job.lora->r * unit.adapters * unit.positions : 0;
  return s.samples *
         (s.compute_bytes * (unit.saves.compute + adapters) + kFp32Bytes * unit.saves.fp32);
}

// A unit saves nothing if nothing is trained in it or before it.
int64_t SavedOf(const MemorySetting& s, size_t unit) {
  if (!EncoderTrains(s.units, unit + 1)) return 0;
  const EncoderElements& elements = s.units.encoder[unit];
  return IsCheckpointedUnit(s, unit) ? UnitOutputBytes(s, elements) : WholeSaved(s, elements);
}

int64_t SavedUpTo(const MemorySetting& s, size_t units) {
  int64_t bytes = 0;
  for (size_t i = 0; i < units; ++i) bytes += SavedOf(s, i);
  return bytes;
}

// The fp32 picture, and its features where the Q-Former alone is trained.
int64_t PictureBytes(const MemorySetting& s) {
  if (!s.model.image) return 0;
  constexpr int64_t kColors = 3;
  const ImageShape& image = *s.model.image;
  return s.samples * kFp32Bytes * kColors * image.side * image.side;
}

// The gradient of the picture's features, which Q-Former layers add to.
int64_t FeatureGradBytes(const MemorySetting& s, size_t unit) {
  const std::vector<EncoderElements>& units = s.units.encoder;
  size_t features = units.size();  // the unit that gives them: before the first that has queries
  for (size_t i = 0; i < units.size() && features == units.size(); ++i) {
    if (units[i].positions != units[0].positions) features = i - 1;
  }
  const bool is_behind = unit > features && unit + 1 < units.size();
  return is_behind && EncoderTrains(s.units, features + 1) ? UnitOutputBytes(s, units[features])
                                                           : 0;
}

// Of a block: the FFN's gradient and its output again, and a hidden gradient.
int64_t UnitWork(const MemorySetting& s, const EncoderElements& unit) {
  return s.samples * unit.positions * s.compute_bytes * (2 * unit.ffn + unit.width) +
         s.compute_bytes * unit.elements.quantized;
}

}  // namespace

int64_t AllEncoderActivations(const MemorySetting& s) {
  return PictureBytes(s) + SavedUpTo(s, s.units.encoder.size());
}

int64_t EncoderActivationsAt(const MemorySetting& s, size_t unit) {
  if (!EncoderTrains(s.units, unit + 1)) return 0;
  const EncoderElements& elements = s.units.encoder[unit];
  const int64_t again = IsCheckpointedUnit(s, unit) ? WholeSaved(s, elements) : 0;
  return PictureBytes(s) + SavedUpTo(s, unit + 1) + again + UnitOutputBytes(s, elements) +
         FeatureGradBytes(s, unit) + UnitWork(s, elements);
}

}  // namespace trainctl::job
