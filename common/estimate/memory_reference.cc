#include "common/estimate/memory_reference.h"

#include <algorithm>

#include "common/estimate/frozen_parts.h"
#include "common/estimate/memory_activations.h"
#include "common/estimate/reference_rows.h"
#include "common/job/optimizer.h"

namespace trainctl::job {
namespace {

constexpr int64_t kNormPiece = 1 << 16;      // worker/rank/optim/grad_norm.cc
constexpr int64_t kEightBitPiece = 1 << 20;  // worker/rank/optim/adamw_8bit.cc

// fp32 temporaries alive at once, in elements.
constexpr int64_t kLoss = 2;         // of a logit
constexpr int64_t kLossForward = 1;  // of a logit, where no gradient is made
constexpr int64_t kSwiGlu = 8;       // of an FFN element: sigmoid, silu and six of one expression

// The sizes that the formulas are made of. Activations are bytes of all positions.
struct Sizes : ReferenceRows {
  explicit Sizes(const MemorySetting& setting)
      : ReferenceRows(setting, setting.positions, ModelPart::kLanguage), s(setting) {}

  const MemorySetting& s;
  int64_t hidden = s.model.hidden, ffn = s.model.intermediate;
  int64_t up = s.units.gates ? 2 * ffn : ffn;  // what the FFN's first layer gives
  int64_t q = s.model.heads * s.model.head_dim, kv = s.model.kv_heads * s.model.head_dim;

  int64_t Norm() const { return NormBackward(hidden); }
};

// Whole 4-bit matrices of a block, in elements, as they are unpacked on the way back.
struct Unpacked {
  int64_t down, gate_up;
  int64_t until_qkv;  // with the matrix behind attention
  int64_t all;
};

Unpacked UnpackedOf(const Sizes& z) {
  const int64_t all = z.s.units.block.quantized;
  if (all == 0) return {};
  return {z.ffn * z.hidden, (z.ffn + z.up) * z.hidden, all - (z.q + 2 * z.kv) * z.hidden, all};
}

// While a matrix of the FFN is unpacked.
int64_t Unpacking(const Sizes& z) {
  return z.s.units.block.quantized == 0 ? 0 : UnpackingBytes(z.ffn * z.hidden);
}

// The adapter of the matrix behind SwiGLU adds a product in fp32 to its input's gradient; with
// dropout it also masks its input.
int64_t DownAdapter(const Sizes& z) {
  if (!z.s.units.adapts_down || !z.s.is_cpu) return 0;
  return z.Wide(z.ffn) * (z.s.job.lora->dropout > 0 ? 2 : 1);
}

// What the hidden gradient becomes without what the model drops, and the mask meanwhile.
int64_t Dropped(const Sizes& z) {
  return z.s.model.dropout > 0 ? z.Kept(z.hidden) + z.n * z.hidden : 0;
}

// What ReLU and the matrix behind it hold: they go back first.
int64_t ReluEnd(const Sizes& z) {
  const int64_t input = std::max({z.Product(z.hidden, z.ffn), DownAdapter(z), Unpacking(z)});
  return z.e * UnpackedOf(z).down + Dropped(z) + z.Kept(z.ffn) +
         std::max(input, z.WeightGrad(z.hidden, z.ffn));
}

// The same of SwiGLU.
int64_t SwiGluEnd(const Sizes& z) {
  const int64_t unpacked = z.e * UnpackedOf(z).down;
  const int64_t swiglu =
      3 * z.Kept(z.ffn) + z.n * z.ffn * (kFp32Bytes * kSwiGlu + 3 * z.wide_input);
  const int64_t input =
      z.Kept(z.ffn) + std::max({z.Product(z.hidden, z.ffn), DownAdapter(z), Unpacking(z)});
  const int64_t weight = 4 * z.Kept(z.ffn) + z.WeightGrad(z.hidden, z.ffn);
  return unpacked + std::max({swiglu, input, weight});
}

int64_t FfnEnd(const Sizes& z) { return z.s.units.gates ? SwiGluEnd(z) : ReluEnd(z); }

// Then the FFN's first layer, with the norm before it: the gradient stands in the place of its
// output.
int64_t FfnBegin(const Sizes& z) {
  const int64_t unpacked = z.e * UnpackedOf(z).gate_up, hidden = z.Kept(z.hidden);
  const int64_t input = hidden + std::max(z.Product(z.up, z.hidden), Unpacking(z));
  const int64_t weight = 3 * hidden + z.WeightGrad(z.up, z.hidden);
  return unpacked + std::max({input, hidden + z.Norm(), weight});
}

// Then attention, after FFN and the second norm have given back what they saved. On CPUs keys and
// values are repeated for each head, and a window is by pieces.
int64_t AttentionWork(const Sizes& z) {
  if (!z.s.is_cpu) return 0;
  const int64_t freed = z.Kept(z.up + z.hidden);
  const int64_t repeated = z.q == z.kv ? 0 : z.Wide(2 * z.q + 2 * z.kv);
  const int64_t widened = z.wide_operand == 0 ? 0 : z.Wide(3 * z.q + 2 * z.kv) + z.Kept(3 * z.q);
  return z.e * UnpackedOf(z).until_qkv + z.Kept(z.hidden + z.q) + z.Wide(3 * z.q) + repeated +
         widened + z.s.WindowPieceBytes() - freed;
}

// Then the norms of q's heads, of a copy of their gradient, while the attention is still kept.
int64_t HeadNormWork(const Sizes& z) {
  if (!z.s.model.head_norms) return 0;
  const int64_t freed = z.Kept(z.up + z.hidden);
  return z.e * UnpackedOf(z).until_qkv + z.Kept(z.hidden + z.q + 2 * z.kv + 2 * z.q) +
         z.n * z.q * (kFp32Bytes * kNormBackward + z.wide_input) - freed;
}

// Then the first norm and its matrix, after attention.
int64_t QkvWork(const Sizes& z) {
  const int64_t qkv = z.q + 2 * z.kv, freed = z.Kept(z.up + z.hidden + z.q);
  const int64_t kept = 2 * z.Kept(z.hidden) - freed;
  return z.e * UnpackedOf(z).all + kept +
         std::max({z.Product(qkv, z.hidden), z.Norm(),
                   z.Kept(2 * z.hidden) + z.WeightGrad(qkv, z.hidden)});
}

// The last block's forward with 4-bit weights, all unpacked: the hidden gradient is not there yet.
int64_t UnpackedForward(const Sizes& z) {
  if (z.s.units.block.quantized == 0) return 0;
  return z.e * UnpackedOf(z).all + Unpacking(z) + z.Kept(z.ffn - z.hidden);
}

int64_t HeadRows(const MemorySetting& s) { return std::min(s.positions, kHeadChunkRows); }

// A chunk's logits, with so many fp32 temporaries of each.
int64_t LossOfHead(const Sizes& z, int64_t temporaries) {
  return HeadRows(z.s) * z.s.model.vocab * (z.e + kFp32Bytes * temporaries + z.wide_input);
}

// A chunk's logits, and a product in fp32 that they take part in: its operands and its result. Of
// that a bf16 copy is made, of so many elements.
int64_t ProductOfHead(const Sizes& z, int64_t result) {
  if (z.wide_operand == 0) return 0;
  const int64_t rows = HeadRows(z.s), vocab = z.s.model.vocab;
  return rows * vocab * z.e + z.wide_operand * (rows * vocab + rows * z.hidden + vocab * z.hidden) +
         kBf16Bytes * result;
}

// The one that gives hidden rows.
int64_t HiddenOfHead(const Sizes& z) { return ProductOfHead(z, HeadRows(z.s) * z.hidden); }

// A block's forward that saves nothing, by its parts: what each holds beyond all that the block
// saves for a backward. Of an adapter that is its product with the output's width.

// Of q's and k's heads before their norms, while the attention is at work.
int64_t HeadNormCopies(const Sizes& z) { return z.s.model.head_norms ? z.Kept(z.q + z.kv) : 0; }

// The first norm and its matrix: what is behind them is not there yet.
int64_t QkvForward(const Sizes& z) {
  const int64_t qkv = z.q + 2 * z.kv, later = z.Kept(z.q + z.hidden + z.up) + HeadNormCopies(z);
  return Unpacking(z) + z.Kept(z.hidden) +
         std::max(z.NormForward(z.hidden), z.Product(z.hidden, qkv)) - later;
}

// Norms of heads, rotation, then the attention itself. CPUs compute it in fp32, with keys and
// values repeated for each head.
int64_t AttentionForward(const Sizes& z) {
  const int64_t later = z.Kept(z.hidden + z.up);
  const int64_t of_norm =
      z.s.model.head_norms ? z.n * z.q * (2 * kFp32Bytes + z.wide_input + z.e) : 0;
  const int64_t rotation = z.n * (z.q + z.kv) * (2 * kFp32Bytes + z.wide_input);
  int64_t attention = z.s.WindowPieceBytes();
  if (z.s.is_cpu && z.q != z.kv) attention += z.Wide(2 * z.q);
  if (z.wide_operand != 0) attention += z.Wide(2 * z.q + 2 * z.kv);
  return std::max({of_norm, rotation, z.Kept(z.q) + attention}) - z.Kept(z.q) - later;
}

// The second norm and the FFN's first layer, whose output counts as saved. A ReLU makes another.
int64_t FfnBeginForward(const Sizes& z) {
  const int64_t norm = z.NormForward(z.hidden) - z.Kept(z.up);
  const int64_t adapter = z.s.job.lora ? z.Wide(z.ffn + z.s.job.lora->r) : 0;
  const int64_t relu = z.s.units.gates ? 0 : z.Kept(z.ffn);
  return z.Kept(z.hidden) + std::max({norm, z.Product(z.hidden, z.up), adapter, relu}) -
         HeadNormCopies(z);
}

// SwiGLU in fp32, of whose narrower inputs copies are made, and then the last matrix.
int64_t FfnEndForward(const Sizes& z) {
  const int64_t swiglu =
      z.s.units.gates
          ? z.Wide(2 * z.ffn) + (z.wide_input == 0 ? 0 : z.Wide(2 * z.ffn) + z.Kept(z.ffn))
          : 0;
  const int64_t adapter = z.s.job.lora ? z.Wide(z.hidden + z.s.job.lora->r) : 0;
  const int64_t product =
      z.wide_operand == 0 ? 0 : z.Product(z.ffn, z.hidden) + z.Wide(z.hidden);  // and the residual
  const int64_t matrix =
      (z.s.units.gates ? z.Kept(z.ffn) : 0) + z.Kept(z.hidden) + std::max(product, adapter);
  return std::max(swiglu, matrix) - HeadNormCopies(z);
}

// States in 8 bits, a piece at a time: those in fp32, and what decodes, applies or encodes one.
int64_t EightBitWork(const MemorySetting& s, int64_t elements) {
  constexpr int64_t kAlongside = 2;
  const bool is_narrow = s.storage_bytes == kBf16Bytes;
  const int64_t wide_master = is_narrow ? 1 : 0, wide_grad = is_narrow || s.clips ? 1 : 0;
  return std::min(elements, kEightBitPiece) * kFp32Bytes *
         (InfoOf(s.job.optimizer.name).states + kAlongside + wide_master + wide_grad);
}

}  // namespace

int64_t ReferenceBlockWork(const MemorySetting& s) {
  const Sizes z(s);
  return std::max(
      {FfnEnd(z), FfnBegin(z), AttentionWork(z), HeadNormWork(z), QkvWork(z), UnpackedForward(z)});
}

int64_t ReferenceHeadWork(const MemorySetting& s) {
  const Sizes z(s);
  // The gradient of the matrix is added to that of earlier micro steps.
  const bool adds = s.accumulates && s.storage_bytes == kBf16Bytes &&
                    !IsFrozen(s.job, ModelPart::kLanguage) && !s.job.lora;
  const int64_t weight = adds ? ProductOfHead(z, s.model.vocab * z.hidden) : 0;
  return 2 * HiddenBytes(s) + std::max({LossOfHead(z, kLoss), HiddenOfHead(z), weight, z.Norm()});
}

int64_t ReferenceBlockForward(const MemorySetting& s) {
  const Sizes z(s);
  const int64_t adapters = s.job.lora ? z.Kept(s.job.lora->r * s.units.block_adapters) : 0;
  return BlockActivations(s) - adapters + z.e * UnpackedOf(z).all +
         std::max({QkvForward(z), AttentionForward(z), FfnBeginForward(z), FfnEndForward(z)});
}

int64_t ReferenceHeadForward(const MemorySetting& s) {
  const Sizes z(s);
  return 2 * HiddenBytes(s) + std::max({LossOfHead(z, kLossForward), HiddenOfHead(z), z.Norm()});
}

int64_t ReferenceEmbeddingWork(const MemorySetting& s) {
  const int64_t widened =
      s.storage_bytes == s.compute_bytes ? 0 : s.positions * kFp32Bytes * s.model.hidden;
  return s.units.embedding.trainable > 0 ? widened + s.units.embedding.trainable * s.storage_bytes
                                         : 0;
}

int64_t ReferenceNormWork(const MemorySetting& s, const UnitElements& unit) {
  // The square of each element in fp32 and in fp64, of bf16 also the element itself.
  return std::min(s.TrainableHeld(unit), kNormPiece) *
         (kFp32Bytes + 8 + (s.storage_bytes == kBf16Bytes ? kFp32Bytes : 0));
}

int64_t ReferenceUpdateWork(const MemorySetting& s, const UnitElements& unit) {
  if (StateFormOf(s.job.optimizer) != StateForm::kEightBit) return 0;
  int64_t longest = 0;
  for (int64_t rank = 0; rank < s.ranks_that_differ(); ++rank) {
    for (const StateRun& run : s.StateRunsOf(unit, rank))
      longest = std::max(longest, run.is_small ? 0 : run.elements);
  }
  return EightBitWork(s, longest);
}

}  // namespace trainctl::job
