#include "common/estimate/memory_units.h"

#include <algorithm>
#include <utility>

#include "common/estimate/frozen_parts.h"
#include "common/estimate/lora_targets.h"
#include "common/model/layout.h"

namespace trainctl::job {
namespace {

constexpr int64_t kSmallTensor = 4096;  // bitsandbytes' min_8bit_size

int64_t Pad(int64_t elements) {
  return (elements + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
}

// Sorts tensors into the buffers of a unit.
class UnitBuilder {
 public:
  // quantizes: the unit's matrices.
  UnitBuilder(const JobSpec& job, ModelPart part, bool quantizes)
      : is_frozen_(IsFrozen(job, part)),
        quantizes_(quantizes && job.quantize.has_value()),
        trains_(Trains(job)) {}

  void Add(const Layer& layer) {
    for (const Module& module : layer.modules)
      Add(module.rows * layer.columns, quantizes_ && layer.is_matrix);
    for (const Module& module : layer.modules) {
      if (module.has_bias) Add(module.rows, /*quantized=*/false);
    }
  }

  void AddAdapter(int64_t elements) {
    if (trains_) return AddTrainable(elements);
    unit_.frozen += Pad(elements);
  }

  UnitElements Take() const { return unit_; }

 private:
  void AddTrainable(int64_t elements) {
    unit_.trainable += Pad(elements);
    unit_.tensors.push_back(elements);
  }

  void Add(int64_t elements, bool quantized) {
    if (!is_frozen_) return AddTrainable(elements);
    (quantized ? unit_.quantized : unit_.frozen) += Pad(elements);
  }

  bool is_frozen_;
  bool quantizes_;
  bool trains_;
  UnitElements unit_;
};

int64_t FfnWidth(const UnitLayers& layers) {
  for (const Layer& layer : layers) {
    if (layer.role == LayerRole::kUp) return layer.rows();
  }
  return 0;
}

void AddAdapted(const LoraTarget& target, EncoderElements* unit) {
  ++unit->adapters;
  unit->adapter_rows += target.positions > 0 ? target.positions : unit->positions;
  unit->adapts_down |= target.name.ends_with(".down");
  unit->adapts_sources |= target.positions > 0;
}

}  // namespace

std::vector<StateRun> StateRuns(const UnitElements& unit, int64_t begin, int64_t elements) {
  std::vector<StateRun> runs;
  int64_t end = 0;
  for (const int64_t tensor : unit.tensors) {
    const int64_t first = end;
    end += Pad(tensor);
    const int64_t common = std::min(end, begin + elements) - std::max(first, begin);
    if (common <= 0) continue;
    const bool is_small = tensor < kSmallTensor;
    if (runs.empty() || runs.back().is_small != is_small) runs.push_back({0, is_small});
    runs.back().elements += common;
  }
  return runs;
}

bool EncoderTrains(const ModelUnits& units, size_t first_units) {
  return std::any_of(units.encoder.begin(),
                     units.encoder.begin() + static_cast<ptrdiff_t>(first_units),
                     [](const EncoderElements& unit) { return unit.elements.trainable > 0; });
}

size_t FeaturesUnit(const ModelUnits& units) {
  size_t unit = 0;
  while (unit + 1 < units.encoder.size() && units.encoder[unit + 1].part == ModelPart::kVision)
    ++unit;
  return unit;
}

size_t LastReader(const ModelUnits& units) {
  size_t unit = units.encoder.size() - 1;
  while (unit > 0 && !units.encoder[unit].reads_image) --unit;
  return unit;
}

ModelUnits UnitsOf(const JobSpec& job, const ModelShape& m) {
  const ModelDescription model = Describe(m);
  constexpr ModelPart kPart = ModelPart::kLanguage;
  UnitBuilder embedding(job, kPart, false), block(job, kPart, true), head(job, kPart, false);
  for (const Layer& layer : model.embedding) embedding.Add(layer);
  for (const Layer& layer : model.block) block.Add(layer);
  for (const Layer& layer : model.head) head.Add(layer);
  std::vector<EncoderElements> encoder;
  std::vector<UnitBuilder> encoder_builders;
  for (const EncoderUnit& unit : model.encoder) {
    encoder_builders.emplace_back(job, unit.part, unit.is_block);
    for (const Layer& layer : unit.layers) encoder_builders.back().Add(layer);
    encoder.push_back({.part = unit.part,
                       .positions = unit.positions,
                       .width = unit.width,
                       .ffn = FfnWidth(unit.layers),
                       .is_block = unit.is_block,
                       .reads_image = unit.reads_image,
                       .saves = unit.saves});
  }
  int64_t block_adapters = 0;
  bool adapts_down = false;
  for (const LoraTarget& target :
       job.lora ? LoraTargets(*job.lora, m) : std::vector<LoraTarget>()) {
    const bool is_head = target.name == "head", is_decoder = target.encoder_unit < 0;
    UnitBuilder& unit = !is_decoder ? encoder_builders[static_cast<size_t>(target.encoder_unit)]
                        : is_head   ? head
                                    : block;
    unit.AddAdapter(job.lora->r * target.in);
    unit.AddAdapter(job.lora->r * target.out);
    if (!is_decoder) {
      AddAdapted(target, &encoder[static_cast<size_t>(target.encoder_unit)]);
      continue;
    }
    block_adapters += is_head ? 0 : 1;
    adapts_down |= target.name == "down";
  }
  for (size_t i = 0; i < encoder.size(); ++i) encoder[i].elements = encoder_builders[i].Take();
  return {.encoder = std::move(encoder),
          .embedding = embedding.Take(),
          .block = block.Take(),
          .head = head.Take(),
          .layers = model.layers,
          .tied_head = model.tied_head,
          .block_adapters = block_adapters,
          .adapts_down = adapts_down,
          .block_saves = model.block_saves,
          .gates = model.gates};
}

}  // namespace trainctl::job
