// LLaMA (Touvron et al. 2023) and its kin Mistral, Qwen 2 and Qwen 3: pre-norm RMSNorm, rotary
// embedding, grouped-query attention, SwiGLU; biases, norms of heads and a tied head as described.
#pragma once

#include "worker/rank/model/linear_builder.h"
#include "worker/rank/model/model.h"
#include "worker/rank/model/table_builder.h"

namespace trainctl::model {

class Llama : public Model {
 public:
  Llama(const job::ModelShape& shape, const ModelOptions& options);

  const ops::ParameterTable& parameters() const override { return table_; }
  ops::Var Hidden(ops::Context& context, const MicroBatch& batch) const override;
  void Loss(ops::Context& context, const MicroBatch& batch) const override;
  double norm_eps() const override { return shape_.norm_eps; }

 private:
  struct Block {
    ops::UnitId unit = 0;
    ops::ParamId input_norm = 0, post_norm = 0;
    std::optional<ops::HeadNorms> head_norms;
    ops::LinearParams qkv, out, gate_up, down;
  };

  Block BuildBlock(TableBuilder& table, LinearBuilder& linears, const job::ModelDescription& model,
                   int64_t number) const;
  ops::Var RunBlock(ops::Context& context, const Block& block, const ops::Var& x,
                    const ops::HeadShape& heads) const;

  job::ModelShape shape_;
  ModelOptions options_;
  ops::ParameterTable table_;
  ops::ParamId embedding_ = 0;
  ops::NormParams final_norm_;
  ops::LinearParams head_;
  ops::UnitId embedding_unit_ = 0, head_unit_ = 0;
  std::vector<Block> blocks_;
  at::Tensor cos_, sin_;  // [max_length, head_dim / 2] fp32
};

}  // namespace trainctl::model
