// OPT (Zhang et al. 2022): pre-norm LayerNorm, learned positions, an FFN with ReLU, biases. What
// attention and FFN add to the hidden states is subject to dropout.
#pragma once

#include "common/model/model_description.h"
#include "worker/rank/model/linear_builder.h"
#include "worker/rank/model/model.h"
#include "worker/rank/model/table_builder.h"

namespace trainctl::model {

class Opt : public Model {
 public:
  Opt(const job::ModelShape& shape, const ModelOptions& options);

  const ops::ParameterTable& parameters() const override { return table_; }
  ops::Var Hidden(ops::Context& context, const MicroBatch& batch) const override;
  void Loss(ops::Context& context, const MicroBatch& batch) const override;
  double norm_eps() const override { return shape_.norm_eps; }

 private:
  struct Block {
    ops::UnitId unit = 0;
    ops::NormParams attention_norm, ffn_norm;
    ops::LinearParams qkv, out, up, down;
    ops::OutputDropout attention_dropout, ffn_dropout;
  };

  Block BuildBlock(TableBuilder& table, LinearBuilder& linears, const job::ModelDescription& model,
                   int64_t number) const;
  ops::Var RunBlock(ops::Context& context, const Block& block, const ops::Var& x,
                    const ops::HeadShape& heads) const;
  ops::Var Embed(ops::Context& context, const MicroBatch& batch) const;

  job::ModelShape shape_;
  ModelOptions options_;
  ops::ParameterTable table_;
  ops::ParamId embedding_ = 0, positions_ = 0;
  ops::NormParams final_norm_;
  ops::LinearParams head_;
  ops::UnitId embedding_unit_ = 0, head_unit_ = 0;
  std::vector<Block> blocks_;
  at::Tensor position_rows_;  // [max_length] int64: of the table of positions
};

}  // namespace trainctl::model
