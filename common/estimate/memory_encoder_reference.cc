#include "common/estimate/memory_encoder_reference.h"

#include <algorithm>

#include "common/estimate/reference_rows.h"

namespace trainctl::job {
namespace {

// Of a block. Matrices of 4 bits are whole from their first use to the end of the unit.
struct BlockRows : ReferenceRows {
  BlockRows(const MemorySetting& s, const EncoderElements& unit)
      : ReferenceRows(s, s.samples * unit.positions, unit.part),
        hidden(unit.width),
        ffn(unit.ffn),
        adapts_down(unit.adapts_down),
        is_quantized(unit.elements.quantized > 0) {}

  int64_t hidden, ffn;
  bool adapts_down;
  bool is_quantized;

  int64_t Whole(int64_t elements) const { return is_quantized ? e * elements : 0; }
  int64_t Unpacking(int64_t elements) const { return is_quantized ? UnpackingBytes(elements) : 0; }
  // Of a matrix behind a norm, on the way back. The norm's input is there.
  int64_t BehindNorm(int64_t width) const {
    return Kept(hidden) +
           std::max({Product(width, hidden), Unpacking(width * hidden), NormBackward(hidden),
                     Kept(2 * hidden) + WeightGrad(width, hidden)});
  }
  // The same, forward.
  int64_t BehindNormForward(int64_t width) const {
    const int64_t product = wide_operand == 0 ? Kept(width) : Product(hidden, width);
    return Kept(hidden) + std::max({NormForward(hidden), product, Unpacking(width * hidden)});
  }
};

// ---- gelu and the matrix behind it ----

// They go back first: the gradient of gelu's output, then that of its input. The output is there
// again where a gradient is made of it.
int64_t GeluEnd(const BlockRows& z) {
  const int64_t product = z.Kept(z.ffn), matrix = z.hidden * z.ffn;
  const int64_t adapter = z.adapts_down ? z.AdapterInputGrad(z.ffn) : 0;
  const int64_t input =
      product + std::max({z.Product(z.hidden, z.ffn), z.Unpacking(matrix), adapter});
  const int64_t wanted = z.trains || z.adapts_down ? product : 0;
  const int64_t weight =
      std::max(z.WeightGrad(z.hidden, z.ffn), z.adapts_down ? z.AdapterInput(z.ffn) : 0);
  return z.Whole(matrix) + std::max(input, 2 * product + wanted + weight);
}

int64_t GeluEndForward(const BlockRows& z) {
  const int64_t product = z.Kept(z.hidden) + z.Added(z.ffn, z.hidden);
  return z.Kept(z.ffn) + std::max(product, z.Unpacking(z.hidden * z.ffn));
}

// ---- a layer of the vision transformer ----

// The attention goes back, then its gradients are packed. CPUs compute it in fp32.
int64_t AttentionWork(const BlockRows& z) {
  const int64_t packed = z.Kept(6 * z.hidden);
  return z.wide_operand == 0 ? packed
                             : std::max(packed, z.Kept(4 * z.hidden) + z.Wide(8 * z.hidden));
}

int64_t VisionBlockWork(const BlockRows& z) {
  const int64_t square = z.hidden * z.hidden, ffn = 2 * z.hidden * z.ffn;
  const int64_t of_ffn = z.Kept(z.ffn + z.hidden);  // went back
  const int64_t attention = z.Whole(ffn + square) + AttentionWork(z) - of_ffn;
  const int64_t qkv =
      z.Whole(ffn + 4 * square) + z.BehindNorm(3 * z.hidden) - of_ffn - z.Kept(z.hidden);
  // Before that: the end of its forward, as the output's gradient is not there yet.
  const int64_t forward = z.Whole(ffn + 4 * square) + GeluEndForward(z) - z.Kept(z.hidden);
  return std::max({GeluEnd(z), z.Whole(ffn) + z.BehindNorm(z.ffn), attention, qkv, forward});
}

// What each operation gives stays to the end of the block.
int64_t VisionBlockForward(const BlockRows& z) {
  const int64_t hidden = z.hidden, square = hidden * hidden, matrix = hidden * z.ffn;
  const int64_t wide = z.wide_operand == 0 ? 0 : z.Wide(4 * hidden);
  const int64_t qkv = z.Kept(hidden) + z.BehindNormForward(3 * hidden) + z.Whole(3 * square);
  const int64_t attention = z.Kept(5 * hidden) + wide + z.Whole(3 * square);
  const int64_t up = z.Kept(6 * hidden) + z.BehindNormForward(z.ffn) + z.Whole(4 * square + matrix);
  const int64_t down =
      z.Kept(6 * hidden + z.ffn) + GeluEndForward(z) + z.Whole(4 * square + 2 * matrix);
  return std::max({qkv, attention, up, down});
}

// ---- a layer of the Q-Former ----

// Attention of a layer's rows to others.
struct Sources {
  ReferenceRows rows;  // that keys and values are made of
  int64_t width;
  int64_t scores;  // elements
  bool is_adapted;
};

Sources SourcesOf(const MemorySetting& s, const EncoderElements& unit) {
  const ImageShape& image = *s.model.image;
  const int64_t keys = unit.reads_image ? image.positions() : image.queries;
  return {.rows = ReferenceRows(s, s.samples * keys, unit.part),
          .width = unit.reads_image ? image.vision_hidden : unit.width,
          .scores = s.samples * image.qformer_heads * image.queries * keys,
          .is_adapted = unit.adapts_sources};
}

// Bytes of each score while attention is at work, of those that are held beside it.
struct ScoreBytes {
  explicit ScoreBytes(const MemorySetting& s)
      : value(s.widens() ? kFp32Bytes : s.compute_bytes),
        kept(s.compute_bytes),
        narrowed(value == kept ? 0 : kept),
        drops(s.model.image->qformer_attention_dropout > 0),
        // What is dropped, wide where it was narrow; the mask, and as a factor; their product.
        dropping(drops ? 2 * kFp32Bytes + 1 + (kept == kFp32Bytes ? 0 : kFp32Bytes) : 0) {}

  int64_t value, kept, narrowed;
  bool drops;
  int64_t dropping;

  // Scores and probabilities; what goes into the product with the values.
  int64_t Forward() const { return value + kept; }
  int64_t Factor() const { return drops || narrowed > 0 ? value : 0; }
  // The gradient of what was dropped, as the softmax goes back.
  int64_t Softmax() const { return (narrowed > 0 ? 4 : 3) * value; }
  int64_t Dropped() const { return value + narrowed + dropping; }
};

// The softmax goes back, then the gradients of keys and values are laid side by side.
int64_t CrossAttentionWork(const MemorySetting& s, const BlockRows& z, const Sources& from) {
  const ScoreBytes of(s);
  const int64_t keys = from.rows.n * z.hidden, rows = z.n * z.hidden;
  const int64_t wide = of.narrowed > 0 ? of.value * (2 * keys + rows) : 0;
  const int64_t scores = from.scores * std::max(of.Softmax(), of.Dropped());
  const int64_t grads = from.scores * 2 * of.value + keys * 2 * (of.kept + of.value);
  return wide + rows * (of.kept + of.value) + keys * of.value + std::max(scores, grads);
}

// Then the matrices of keys and values. Where the vision transformer goes back too, they give the
// gradient of its features: added to that of the layers behind, which is counted.
int64_t SourcesWork(const MemorySetting& s, const BlockRows& z, const Sources& from, size_t unit) {
  const ReferenceRows& rows = from.rows;
  const int64_t weight = std::max(rows.WeightGrad(z.hidden, from.width),
                                  from.is_adapted ? rows.AdapterInput(from.width) : 0);
  if (!EncoderTrains(s.units, FeaturesUnit(s.units) + 1)) return weight;
  const int64_t own = unit == LastReader(s.units) ? 0 : rows.Kept(from.width);
  const int64_t matrix = z.hidden * from.width;
  const int64_t adapter = from.is_adapted ? rows.AdapterInputGrad(from.width) : 0;
  const int64_t input = std::max({rows.Product(z.hidden, from.width), z.Unpacking(matrix),
                                  rows.Added(z.hidden, from.width), adapter, own});
  return z.Whole(2 * matrix) + own + std::max(input, weight);
}

int64_t QueryBlockWork(const MemorySetting& s, size_t unit) {
  const EncoderElements& elements = s.units.encoder[unit];
  const BlockRows z(s, elements);
  const int64_t width = z.hidden;
  const int64_t end = std::max(z.NormBackward(width), z.Kept(width) + GeluEnd(z));
  const int64_t forward =
      s.compute_bytes * elements.elements.quantized + GeluEndForward(z) - z.Kept(width);
  if (!elements.reads_image) return std::max(end, forward);
  const Sources from = SourcesOf(s, elements);
  const int64_t whole = z.Whole(2 * width * z.ffn + width * width);
  // What the FFN, the norm before it and the matrix behind attention saved; then its probabilities.
  const int64_t behind = z.Kept(4 * width + z.ffn), probabilities = from.scores * z.e;
  const int64_t attention = CrossAttentionWork(s, z, from);
  const int64_t sources = SourcesWork(s, z, from, unit) - probabilities;
  return std::max({end, forward, whole + std::max(attention, sources) - behind});
}

int64_t QueryBlockForward(const MemorySetting& s, const EncoderElements& unit) {
  const BlockRows z(s, unit);
  const Sources from = SourcesOf(s, unit);
  const ScoreBytes of(s);
  const int64_t width = z.hidden, matrix = width * from.width;
  const int64_t keys = from.rows.n * width, rows = z.n * width;
  const int64_t made =
      z.wide_operand == 0 ? from.rows.Kept(width) : from.rows.Product(from.width, width);
  const int64_t wide = of.narrowed > 0 ? of.value * (2 * keys + rows) : 0;
  const int64_t product = from.scores * of.Factor() + of.value * (keys + 2 * rows);
  const int64_t attention =
      wide + from.scores * of.Forward() + std::max(product, from.scores * of.dropping);
  // Its rows, those that attended before, queries, keys and values.
  const int64_t cross = z.Kept(3 * width) + from.rows.Kept(2 * width) +
                        std::max({made, attention, z.Unpacking(matrix)});
  const int64_t unpacked = s.compute_bytes * unit.elements.quantized;
  const int64_t of_ffn = z.Whole(width * width + 2 * width * z.ffn);  // are not there yet
  const int64_t ffn = z.Kept(2 * width + z.ffn) +
                      std::max(GeluEndForward(z), z.Kept(2 * width) + z.NormForward(width));
  return unpacked + std::max(cross - of_ffn, ffn);
}

// ---- what stands before, between and behind the layers ----

// The picture as rows of its squares.
struct Patches {
  explicit Patches(const MemorySetting& s)
      : rows(s, s.samples * s.model.image->patches(), ModelPart::kVision),
        pixels(kColors * s.model.image->patch * s.model.image->patch),
        narrowed(rows.wide_input == 0 ? 0 : rows.Kept(pixels)) {}

  static constexpr int64_t kColors = 3;
  ReferenceRows rows;
  int64_t pixels;
  int64_t narrowed;  // the picture itself, as it was before
};

int64_t PatchesWork(const Patches& z, const ReferenceRows& all, int64_t width) {
  const int64_t sums = all.wide_operand == 0 ? 0 : all.Wide(width);
  return std::max(sums, z.rows.Kept(width + z.pixels) +
                            std::max(z.narrowed, z.rows.WeightGrad(width, z.pixels)));
}

int64_t PatchesForward(const Patches& z, const ReferenceRows& all, int64_t width) {
  const int64_t product =
      z.rows.wide_operand == 0 ? z.rows.Kept(width) : z.rows.Product(z.pixels, width);
  return std::max(z.rows.Kept(z.pixels) + std::max(z.narrowed, product), 2 * all.Kept(width));
}

}  // namespace

int64_t ReferenceUnitWork(const MemorySetting& s, size_t number) {
  const EncoderElements& unit = s.units.encoder[number];
  if (unit.is_block) {
    return unit.part == ModelPart::kVision ? VisionBlockWork(BlockRows(s, unit))
                                           : QueryBlockWork(s, number);
  }
  const ReferenceRows rows(s, s.samples * unit.positions, unit.part);
  if (number == 0) return PatchesWork(Patches(s), rows, unit.width);
  // Its output, which counts as saved, is gone.
  if (unit.part == ModelPart::kVision) return rows.NormBackward(unit.width) - rows.Kept(unit.width);
  if (unit.part == ModelPart::kQFormer) return rows.Wide(unit.width);
  const int64_t width = s.model.image->qformer_hidden;
  return rows.Kept(width) +
         std::max(rows.Product(unit.width, width), rows.WeightGrad(unit.width, width));
}

int64_t ReferenceUnitForward(const MemorySetting& s, size_t number) {
  const EncoderElements& unit = s.units.encoder[number];
  if (unit.is_block) {
    return unit.part == ModelPart::kVision ? VisionBlockForward(BlockRows(s, unit))
                                           : QueryBlockForward(s, unit);
  }
  const ReferenceRows rows(s, s.samples * unit.positions, unit.part);
  if (number == 0) return PatchesForward(Patches(s), rows, unit.width);
  if (unit.part == ModelPart::kVision)
    return rows.Kept(2 * unit.width) + rows.NormForward(unit.width);
  if (unit.part == ModelPart::kQFormer) return rows.Kept(2 * unit.width);
  const int64_t width = s.model.image->qformer_hidden;
  return rows.Kept(width + unit.width) + rows.Product(width, unit.width);
}

}  // namespace trainctl::job
