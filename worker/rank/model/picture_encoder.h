// What BLIP-2 (Li et al. 2023) makes of a picture: a vision transformer's rows, of which the
// queries of a Q-Former take what the decoder is given. Forward-only code, as model.h says.
#pragma once

#include <vector>

#include "common/model/model_description.h"
#include "worker/rank/model/linear_builder.h"
#include "worker/rank/model/model.h"
#include "worker/rank/model/table_builder.h"
#include "worker/rank/ops/picture_layers.h"

namespace trainctl::model {

class PictureEncoder {
 public:
  // Adds its units and parameters, in the order of the description.
  PictureEncoder(TableBuilder& table, LinearBuilder& linears, const job::ModelShape& shape,
                 const ModelOptions& options);

  // batch.images → [rows · queries, the decoder's H].
  ops::Var Encode(ops::Context& context, const MicroBatch& batch) const;

 private:
  struct VisionBlock {
    ops::NormParams attention_norm, ffn_norm;
    ops::LinearParams qkv, out, up, down;
  };
  // Of the Q-Former, with the norm behind it.
  struct Attention {
    ops::LinearParams query, key_value, out;
    ops::NormParams norm;
    ops::OutputDropout probabilities, hidden;
  };
  struct QueryBlock {
    Attention own;
    std::optional<Attention> cross;
    ops::LinearParams up, down;
    ops::NormParams norm;
    ops::OutputDropout hidden;
  };

  void Add(const job::EncoderUnit& unit, ops::UnitId id, LinearBuilder& linears, bool quantize);
  void AddVisionBlock(const job::EncoderUnit& unit, ops::UnitId id, LinearBuilder& linears,
                      bool quantize);
  void AddQueryBlock(const job::EncoderUnit& unit, ops::UnitId id, LinearBuilder& linears,
                     bool quantize);
  ops::OutputDropout NextDropout(double probability);

  ops::Var EncodeVision(ops::Context& context, const MicroBatch& batch) const;
  ops::Var RunVisionBlock(ops::Context& context, const VisionBlock& block, const ops::Var& x,
                          int64_t batch) const;
  ops::Var Query(ops::Context& context, const ops::Var& features, int64_t batch) const;
  ops::Var RunQueryBlock(ops::Context& context, const QueryBlock& block, const ops::Var& x,
                         const ops::Var& features, int64_t batch) const;
  ops::Var Attend(ops::Context& context, const Attention& attention, const ops::Var& x,
                  const ops::Var& source, int64_t batch) const;
  bool Recomputes(size_t block) const {
    return checkpoint_every_ > 0 && block % static_cast<size_t>(checkpoint_every_) == 0;
  }

  const job::ImageShape shape_;
  const int64_t checkpoint_every_;
  uint32_t dropouts_ = 0;

  ops::UnitId vision_embedding_unit_ = 0, vision_norm_unit_ = 0, query_embedding_unit_ = 0,
              projection_unit_ = 0;
  std::vector<ops::UnitId> vision_units_, query_units_;  // of blocks
  ops::PatchEmbedding patches_;
  std::vector<VisionBlock> vision_blocks_;
  ops::NormParams vision_norm_;
  ops::ParamId queries_ = 0;
  ops::NormParams query_norm_;
  ops::OutputDropout query_dropout_;
  std::vector<QueryBlock> query_blocks_;
  ops::LinearParams projection_;
};

}  // namespace trainctl::model
