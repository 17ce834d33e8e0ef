#include "common/estimate/memory_encoder.h"

#include "common/estimate/memory_encoder_reference.h"

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
  const int64_t adapters = s.job.lora ? s.job.lora->r * unit.adapter_rows : 0;
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

// The fp32 pictures.
int64_t PictureBytes(const MemorySetting& s) {
  if (!s.model.image) return 0;
  constexpr int64_t kColors = 3;
  const ImageShape& image = *s.model.image;
  return s.samples * kFp32Bytes * kColors * image.side * image.side;
}

int64_t FeatureBytes(const MemorySetting& s) {
  return UnitOutputBytes(s, s.units.encoder[FeaturesUnit(s.units)]);
}

// Of the first `units` units: what they were given of the picture's features. Where the vision
// transformer saves for a backward, its last unit counts them.
int64_t SavedFeatures(const MemorySetting& s, size_t units) {
  if (units == 0 || EncoderTrains(s.units, FeaturesUnit(s.units) + 1)) return 0;
  for (size_t i = 0; i < units; ++i) {
    if (s.units.encoder[i].reads_image && EncoderTrains(s.units, i + 1)) return FeatureBytes(s);
  }
  return 0;
}

int64_t ActivationsOf(const MemorySetting& s, size_t units) {
  return PictureBytes(s) + SavedUpTo(s, units) + SavedFeatures(s, units);
}

// The gradient of the picture's features, which Q-Former layers add to.
int64_t FeatureGradBytes(const MemorySetting& s, size_t unit) {
  const size_t features = FeaturesUnit(s.units);
  const bool is_behind = unit > features && unit + 1 < s.units.encoder.size();
  return is_behind && EncoderTrains(s.units, features + 1) ? FeatureBytes(s) : 0;
}

// Of a block: the FFN's gradient and its output again, and a hidden gradient.
int64_t UnitWork(const MemorySetting& s, size_t number) {
  if (s.is_reference) return ReferenceUnitWork(s, number);
  const EncoderElements& unit = s.units.encoder[number];
  return s.samples * unit.positions * s.compute_bytes * (2 * unit.ffn + unit.width) +
         s.compute_bytes * unit.elements.quantized;
}

// All that the unit would save, gelu's output and its own.
int64_t UnitForward(const MemorySetting& s, size_t number) {
  if (s.is_reference) return ReferenceUnitForward(s, number);
  const EncoderElements& unit = s.units.encoder[number];
  return WholeSaved(s, unit) + s.compute_bytes * unit.elements.quantized +
         s.samples * unit.positions * s.compute_bytes * (unit.ffn + unit.width);
}

}  // namespace

int64_t AllEncoderActivations(const MemorySetting& s) {
  return ActivationsOf(s, s.units.encoder.size());
}

int64_t EncoderActivationsAt(const MemorySetting& s, size_t unit) {
  const EncoderElements& elements = s.units.encoder[unit];
  // Of a checkpointed unit the input is there already, as large as its output.
  const int64_t output = UnitOutputBytes(s, elements);
  const int64_t again = IsCheckpointedUnit(s, unit) ? WholeSaved(s, elements) - output : 0;
  return ActivationsOf(s, unit + 1) + again + output + FeatureGradBytes(s, unit) +
         UnitWork(s, unit);
}

int64_t EncoderActivationsBefore(const MemorySetting& s, size_t units) {
  if (!EncoderTrains(s.units, units)) return PictureBytes(s);
  const size_t last = units - 1;
  return ActivationsOf(s, units) + UnitOutputBytes(s, s.units.encoder[last]) +
         FeatureGradBytes(s, last);
}

int64_t EncoderForwardAt(const MemorySetting& s, size_t unit) {
  const int64_t features = unit > FeaturesUnit(s.units) ? FeatureBytes(s) : 0;
  return PictureBytes(s) + features + UnitForward(s, unit);
}

}  // namespace trainctl::job
