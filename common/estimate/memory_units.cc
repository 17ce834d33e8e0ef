#include "common/estimate/memory_units.h"

#include <algorithm>

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
  UnitBuilder(const JobSpec& job, bool quantizes)
      : is_lora_(job.lora.has_value()), quantizes_(quantizes && job.quantize.has_value()) {}

  void Add(const Layer& layer) {
    for (const Module& module : layer.modules)
      Add(module.rows * layer.columns, quantizes_ && layer.is_matrix);
    for (const Module& module : layer.modules) {
      if (module.has_bias) Add(module.rows, /*quantized=*/false);
    }
  }

  void AddTrainable(int64_t elements) {
    unit_.trainable += Pad(elements);
    if (elements < kSmallTensor) unit_.trainable_small += Pad(elements);
    run_ = elements < kSmallTensor ? 0 : run_ + Pad(elements);
    unit_.longest_run = std::max(unit_.longest_run, run_);
  }

  UnitElements Take() const { return unit_; }

 private:
  void Add(int64_t elements, bool quantized) {
    if (!is_lora_) return AddTrainable(elements);
    (quantized ? unit_.quantized : unit_.frozen) += Pad(elements);
  }

  bool is_lora_;
  bool quantizes_;
  int64_t run_ = 0;
  UnitElements unit_;
};

}  // namespace

ModelUnits UnitsOf(const JobSpec& job, const ModelShape& m) {
  const ModelDescription model = Describe(m);
  UnitBuilder embedding(job, false), block(job, true), head(job, false);
  for (const Layer& layer : model.embedding) embedding.Add(layer);
  for (const Layer& layer : model.block) block.Add(layer);
  for (const Layer& layer : model.head) head.Add(layer);
  int64_t block_adapters = 0;
  bool adapts_down = false;
  for (const LoraTarget& target :
       job.lora ? LoraTargets(*job.lora, m) : std::vector<LoraTarget>()) {
    const bool is_head = target.name == "head";
    UnitBuilder& unit = is_head ? head : block;
    unit.AddTrainable(job.lora->r * target.in);
    unit.AddTrainable(job.lora->r * target.out);
    block_adapters += is_head ? 0 : 1;
    adapts_down |= target.name == "down";
  }
  return {.embedding = embedding.Take(),
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
