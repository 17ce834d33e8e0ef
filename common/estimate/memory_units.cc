#include "common/estimate/memory_units.h"

#include <algorithm>

#include "common/estimate/lora_targets.h"

namespace trainctl::job {
namespace {

constexpr int64_t kAlignment = 256;
constexpr int64_t kSmallTensor = 4096;  // bitsandbytes' min_8bit_size

int64_t Pad(int64_t elements) { return (elements + kAlignment - 1) / kAlignment * kAlignment; }

enum class Kind { kVector, kMatrix, kBlockMatrix };

// Sorts tensors into the buffers of a unit.
class UnitBuilder {
 public:
  explicit UnitBuilder(const JobSpec& job)
      : is_lora_(job.lora.has_value()), is_quantized_(job.quantize.has_value()) {}

  void Add(Kind kind, int64_t elements) {
    if (!is_lora_) return AddTrainable(elements);
    (is_quantized_ && kind == Kind::kBlockMatrix ? unit_.quantized : unit_.frozen) += Pad(elements);
  }

  void AddTrainable(int64_t elements) {
    unit_.trainable += Pad(elements);
    if (elements < kSmallTensor) unit_.trainable_small += Pad(elements);
    run_ = elements < kSmallTensor ? 0 : run_ + Pad(elements);
    unit_.longest_run = std::max(unit_.longest_run, run_);
  }

  UnitElements Take() const { return unit_; }

 private:
  bool is_lora_;
  bool is_quantized_;
  int64_t run_ = 0;
  UnitElements unit_;
};

void AddBlock(const ModelShape& m, UnitBuilder* block) {
  const int64_t q = m.heads * m.head_dim * m.hidden, kv = m.kv_heads * m.head_dim * m.hidden,
                ffn = m.intermediate * m.hidden;
  block->Add(Kind::kVector, m.hidden);
  for (const int64_t elements : {q, kv, kv, q}) block->Add(Kind::kBlockMatrix, elements);
  block->Add(Kind::kVector, m.hidden);
  for (int i = 0; i < 3; ++i) block->Add(Kind::kBlockMatrix, ffn);
}

}  // namespace

ModelUnits UnitsOf(const JobSpec& job, const ModelShape& m) {
  UnitBuilder embedding(job), block(job), head(job);
  embedding.Add(Kind::kMatrix, m.vocab * m.hidden);
  AddBlock(m, &block);
  head.Add(Kind::kVector, m.hidden);
  if (!m.tied_head) head.Add(Kind::kMatrix, m.vocab * m.hidden);
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
  return {embedding.Take(), block.Take(),   head.Take(), m.layers,
          m.tied_head,      block_adapters, adapts_down};
}

}  // namespace trainctl::job
