// Puts linear layers into a model's table: their matrices, packed where that is possible, and under
// LoRA the adapters of the modules that are adapted, in the same unit. Names are PEFT's: "<module
// path>.lora_A.weight" [r, in], ".lora_B.weight" [out, r].
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/estimate/model_shape.h"
#include "common/job/job.h"
#include "worker/rank/model/table_builder.h"
#include "worker/rank/ops/linear.h"

namespace trainctl::model {

// A matrix of the checkpoint, "<path>.weight" [rows, in].
struct Module {
  std::string target;  // lora.targets' name: "q"
  std::string path;    // "model.layers.0.self_attn.q_proj"
  int64_t rows = 0;
};

class LinearBuilder {
 public:
  // Without lora everything is trainable; with it only adapters are. The head is adapted unless it
  // is tied.
  LinearBuilder(TableBuilder& table, const job::ModelShape& shape,
                const std::optional<job::LoraSpec>& lora);

  // How the model's own parameters are held.
  Holding OwnMatrix() const { return {.trainable = !lora_}; }
  Holding OwnNorm() const { return {.init = ops::Init::kOnes, .trainable = !lora_}; }

  // Modules of one input side by side; quantized: their matrices are.
  ops::LinearParams Add(ops::UnitId unit, const std::vector<Module>& modules, int64_t columns,
                        bool quantized);
  // Adapters alone, of a matrix that is in the table already.
  ops::LinearParams Adapt(ops::UnitId unit, std::vector<ops::ParamId> weights,
                          const std::vector<Module>& modules, int64_t columns);

 private:
  TableBuilder& table_;
  const std::optional<job::LoraSpec> lora_;
  std::set<std::string, std::less<>> targets_;
  uint32_t modules_ = 0;  // so far, adapted or not: each has its own number
};

}  // namespace trainctl::model
