// OPT (Zhang et al. 2022): pre-norm LayerNorm, learned positions, an FFN with ReLU, biases. What
// attention and FFN add to the hidden states is subject to dropout. And BLIP-2 (Li et al. 2023),
// which is OPT behind an encoder of pictures.
#pragma once

#include <optional>
#include <vector>

#include "worker/rank/model/decoder.h"
#include "worker/rank/model/picture_encoder.h"

namespace trainctl::model {

class Opt : public Decoder {
 public:
  Opt(const job::ModelShape& shape, const ModelOptions& options);

 private:
  struct Block {
    ops::NormParams attention_norm, ffn_norm;
    ops::LinearParams qkv, out, up, down;
    ops::OutputDropout attention_dropout, ffn_dropout;
  };

  Block BuildBlock(ops::UnitId unit, LinearBuilder& linears, const job::ModelDescription& model,
                   int64_t number) const;
  ops::Var Encode(ops::Context& context, const MicroBatch& batch) const override;
  ops::Var Embed(ops::Context& context, const MicroBatch& batch,
                 const ops::Var& leading) const override;
  ops::Var RunBlock(ops::Context& context, size_t number, const ops::Var& x,
                    const BlockRows& rows) const override;

  ops::ParamId positions_ = 0;
  std::vector<Block> blocks_;
  std::optional<PictureEncoder> encoder_;
  at::Tensor position_rows_;  // [max_length] int64: of the table of positions
};

}  // namespace trainctl::model
