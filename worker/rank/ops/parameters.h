// How a model names its parameters, and how ops reach them. A model lists ParamSpecs grouped in
// units; a strategy decides where they live and hands them out through ParameterAccess. Neither ops
// nor models ever see a strategy.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace trainctl::ops {

using ParamId = int32_t;
using UnitId = int32_t;

// Rows of a parameter that are one tensor of a Hugging Face checkpoint.
struct ParamPiece {
  std::string name;  // "model.layers.0.self_attn.q_proj.weight"
  int64_t row = 0;   // first row
  int64_t rows = 0;
};

// Of "init": "random", and of adapters always. kKaimingUniform: uniform in ±1 / sqrt(columns), as
// torch's Linear (He et al. 2015, a = √5).
enum class Init { kNormal, kOnes, kZeros, kKaimingUniform };

// A matrix or vector that ops use whole; q, k, v (and gate, up) are pieces of one matrix.
struct ParamSpec {
  std::vector<int64_t> shape;  // [rows] or [rows, columns]
  std::vector<ParamPiece> pieces;
  std::vector<int64_t> file_shape = {};  // of the checkpoint's tensor; empty: the piece's own
  UnitId unit = 0;
  Init init = Init::kNormal;
  bool trainable =
      true;  // false: no gradient, no optimizer state, and stored in the compute dtype only
  bool quantized =
      false;  // stored in 4 bits (quantize), dequantized for its uses; frozen parameters only
  bool adapter = false;  // of LoRA: not a tensor of the model's own checkpoint

  int64_t columns() const { return shape.size() == 1 ? 1 : shape[1]; }
  int64_t numel() const { return shape[0] * columns(); }
};

// What is gathered, reduced and updated together: a block, the embedding, the head.
struct UnitSpec {
  std::string name;
  std::vector<ParamId> params;
  int64_t uses = 1;  // forward uses a micro step (2: tied embedding and head)
};

struct ParameterTable {
  std::vector<ParamSpec> params;
  std::vector<UnitSpec> units;
};

enum class Pass { kForward, kRecompute, kBackward };

// A gradient's storage: the op computes view = beta · view + gradient. The view may be of a wider
// dtype than the gradient's factors. An undefined view: the parameter is frozen, and its gradient
// not wanted.
struct GradView {
  at::Tensor view;
  double beta = 0;
};

// Implemented by strategies. Between BeginUnit and EndUnit of a unit its parameters may be asked
// for.
class ParameterAccess {
 public:
  virtual ~ParameterAccess() = default;
  virtual void BeginUnit(UnitId unit, Pass pass) = 0;
  virtual void EndUnit(UnitId unit, Pass pass) = 0;
  // Full, of the compute dtype, in the spec's shape; valid until EndUnit.
  virtual at::Tensor Weight(ParamId param) = 0;
  // Only in Pass::kBackward. Each call is one addition: the first of a gradient gets beta 0.
  virtual GradView Grad(ParamId param) = 0;
  // Whether the unit has a parameter that is trained. At any time.
  virtual bool Trains(UnitId unit) const = 0;
};

}  // namespace trainctl::ops
