#include "common/estimate/encoder_work.h"

#include "common/estimate/frozen_parts.h"
#include "common/estimate/memory_units.h"
#include "common/model/model_description.h"

namespace trainctl::job {
namespace {

constexpr double kForwardFlops = 2, kFrozenFlops = 4, kTrainedFlops = 6;
constexpr double kAttention = 4 * 12;                  // step_time.cc's factor, of both triangles
constexpr double kHiddenPasses = 30, kGeluPasses = 6;  // as step_time.cc's; not fitted
constexpr double kForwardOnly = 1.0 / 3;

double MatrixRows(const EncoderUnit& unit) {
  double products = 0;
  for (const Layer& layer : unit.layers) {
    const int64_t positions = layer.positions > 0 ? layer.positions : unit.positions;
    if (layer.is_matrix && layer.role != LayerRole::kPositions && layer.role != LayerRole::kClass &&
        layer.role != LayerRole::kQueries)
      products += static_cast<double>(layer.rows() * layer.columns * positions);
  }
  return products;
}

// Of the layers that keys and values are made by.
double AttentionFlops(const EncoderUnit& unit) {
  double flops = 0;
  for (const Layer& layer : unit.layers) {
    const bool has_keys = layer.role == LayerRole::kQkv || layer.role == LayerRole::kKeyValue ||
                          layer.role == LayerRole::kCrossKeyValue;
    if (!has_keys) continue;
    const int64_t keys = layer.positions > 0 ? layer.positions : unit.positions;
    flops += kAttention * static_cast<double>(unit.width * unit.positions * keys);
  }
  return flops;
}

double FfnRows(const EncoderUnit& unit) {
  for (const Layer& layer : unit.layers) {
    if (layer.role == LayerRole::kUp) return static_cast<double>(layer.rows());
  }
  return 0;
}

double Again(const JobSpec& job, const EncoderUnit& unit) {
  if (job.activation_checkpointing == 0 || !unit.is_block) return 0;
  return 1.0 / static_cast<double>(job.activation_checkpointing);
}

}  // namespace

EncoderWork EncoderWorkOf(const JobSpec& job, const ModelShape& shape) {
  const ModelDescription model = Describe(shape);
  const ModelUnits units = UnitsOf(job, shape);
  EncoderWork work;
  for (size_t i = 0; i < model.encoder.size(); ++i) {
    const EncoderUnit& unit = model.encoder[i];
    const bool goes_back = EncoderTrains(units, i + 1);
    const double again = goes_back ? Again(job, unit) : 0;
    const double trained = IsFrozen(job, unit.part) ? kFrozenFlops : kTrainedFlops;
    const double passes = (goes_back ? 1 : kForwardOnly) + again * kForwardOnly;
    const double rows = static_cast<double>(unit.positions);
    work.flops +=
        MatrixRows(unit) * ((goes_back ? trained : kForwardFlops) + again * kForwardFlops) +
        AttentionFlops(unit) * passes;
    work.elements +=
        passes * rows *
        (kHiddenPasses * static_cast<double>(unit.width) + kGeluPasses * FfnRows(unit));
    work.blocks += unit.is_block ? passes : 0;
    work.adapted += static_cast<double>(units.encoder[i].adapters);
  }
  return work;
}

}  // namespace trainctl::job
