// Puts linear layers and norms into a model's table: matrices, packed if that is possible, and
// biases. Under LoRA the adapters of the adapted modules come into the same unit. Names are PEFT's:
// "<module path>.lora_A.weight" [r, in], ".lora_B.weight" [out, r].
#pragma once

#include <set>
#include <string>
#include <vector>

#include "common/job/job.h"
#include "common/model/model_description.h"
#include "common/model/model_shape.h"
#include "worker/rank/model/model.h"
#include "worker/rank/model/table_builder.h"
#include "worker/rank/ops/linear.h"
#include "worker/rank/ops/norm.h"

namespace trainctl::model {

class LinearBuilder {
 public:
  // Without lora everything is trainable but the parts in freeze; with it only adapters are; of
  // what does not train nothing is. The head is adapted unless it is tied.
  LinearBuilder(TableBuilder& table, const job::ModelShape& shape, const ModelOptions& options);

  // What is added from here on is of this part; at first, of the language.
  void BeginPart(job::ModelPart part);
  // Whether the part's own parameters are.
  bool frozen() const { return frozen_; }
  // How the part's own parameters are held.
  Holding OwnMatrix() const { return {.trainable = !frozen_}; }
  // A tensor that is no linear layer: of learned rows.
  ops::ParamId AddRows(ops::UnitId unit, const job::Layer& layer);

  // prefix: of the modules' paths; quantized: their matrices are.
  ops::LinearParams Add(ops::UnitId unit, const std::string& prefix, const job::Layer& layer,
                        bool quantized);
  ops::NormParams AddNorm(ops::UnitId unit, const std::string& prefix, const job::Layer& layer);

 private:
  ops::ParamId AddBias(ops::UnitId unit, const std::string& path, int64_t size);
  void Adapt(ops::UnitId unit, const std::string& prefix, const job::Layer& layer,
             ops::LinearParams* linear);

  TableBuilder& table_;
  const job::JobSpec job_;  // as the options say
  std::set<std::string, std::less<>> targets_;
  bool frozen_ = false;
  uint32_t modules_ = 0;  // so far, adapted or not: each has its own number
};

}  // namespace trainctl::model
