// A stack of blocks between an embedding and a head: what the families of decoders share. A tied
// head runs in the embedding's unit too.
#pragma once

#include <vector>

#include "common/model/model_description.h"
#include "worker/rank/model/linear_builder.h"
#include "worker/rank/model/model.h"
#include "worker/rank/model/rotary_tables.h"
#include "worker/rank/model/table_builder.h"

namespace trainctl::model {

// What a block is told of its rows.
struct BlockRows {
  ops::HeadShape heads;
  RotaryTables rotation;
  ops::CachedLayer cached = {};
};

class Decoder : public Model {
 public:
  const ops::ParameterTable& parameters() const override { return table_; }
  ops::Var Hidden(ops::Context& context, const MicroBatch& batch) const override;
  void Loss(ops::Context& context, const MicroBatch& batch) const override;
  at::Tensor Logits(ops::Context& context, const MicroBatch& batch,
                    const at::Tensor& rows) const override;
  double norm_eps() const override { return shape_.norm_eps; }

 protected:
  Decoder(const job::ModelShape& shape, const ModelOptions& options)
      : shape_(shape), options_(options) {}

  // A family's constructor adds its parameters in this order. AddEmbedding adds the unit and its
  // first table, that of tokens; AddTable another one; AddBlock a block's unit, which it returns.
  void AddEmbedding(TableBuilder& table, const LinearBuilder& linears,
                    const job::ModelDescription& model);
  ops::ParamId AddTable(TableBuilder& table, const LinearBuilder& linears,
                        const job::Layer& layer) const;
  ops::UnitId AddBlock(TableBuilder& table);
  void AddHead(TableBuilder& table, LinearBuilder& linears, const job::ModelDescription& model);

  // What stands for the first tokens' rows: no value, where they are embedded as all others.
  virtual ops::Var Encode(ops::Context&, const MicroBatch&) const { return {}; }
  // Of one unit: the hidden states that the first block gets, and what block `number` makes of x.
  virtual ops::Var Embed(ops::Context& context, const MicroBatch& batch,
                         const ops::Var& leading) const = 0;
  virtual ops::Var RunBlock(ops::Context& context, size_t number, const ops::Var& x,
                            const BlockRows& rows) const = 0;

  // Of a table by position, the rows of a sample, or of what the cache is given; of packed rows
  // those of all positions of the batch. A table that is undefined has none.
  static at::Tensor AtPositions(const at::Tensor& table, const MicroBatch& batch);

  const job::ModelShape shape_;
  const ModelOptions options_;
  ops::ParameterTable table_;
  ops::ParamId embedding_ = 0;
  bool frozen_ = false;  // the decoder's own parameters are
  Rotation rotation_;    // of rotary families

 private:
  BlockRows RowsOf(const MicroBatch& batch) const;
  // Of a layer's rows: 0 where no row reaches beyond it.
  int64_t WindowOf(const MicroBatch& batch, int64_t layer) const;
  ops::HeadLoss Head() const;

  ops::NormParams final_norm_;
  ops::LinearParams head_;
  ops::UnitId embedding_unit_ = 0, head_unit_ = 0;
  std::vector<ops::UnitId> blocks_;
};

}  // namespace trainctl::model
