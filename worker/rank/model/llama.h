// LLaMA (Touvron et al. 2023) and its kin Mistral, Qwen 2 and Qwen 3: pre-norm RMSNorm, rotary
// embedding, grouped-query attention, SwiGLU; biases, norms of heads and a tied head as described.
#pragma once

#include <vector>

#include "worker/rank/model/decoder.h"

namespace trainctl::model {

class Llama : public Decoder {
 public:
  Llama(const job::ModelShape& shape, const ModelOptions& options);

 private:
  struct Block {
    ops::ParamId input_norm = 0, post_norm = 0;
    std::optional<ops::HeadNorms> head_norms;
    ops::LinearParams qkv, out, gate_up, down;
  };

  Block BuildBlock(ops::UnitId unit, LinearBuilder& linears, const job::ModelDescription& model,
                   int64_t number) const;
  ops::Var Embed(ops::Context& context, const MicroBatch& batch,
                 const ops::Var& leading) const override;
  ops::Var RunBlock(ops::Context& context, size_t number, const ops::Var& x,
                    const BlockRows& rows) const override;

  std::vector<Block> blocks_;
};

}  // namespace trainctl::model
