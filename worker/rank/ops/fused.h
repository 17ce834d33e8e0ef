// The engine's fused CUDA kernels, as plain launch functions: raw device pointers, sizes, a stream.
// No LibTorch here or in the .cu files behind it; the ops wrap them over tensors.
//
// Legend: N rows (batch × length), H hidden, F FFN width, V vocabulary, D head_dim. Matrices are
// row-major and dense. "element" is the activations' dtype. Statistics, sums and all arithmetic are
// fp32 whatever it is, and each output is rounded once.
//
// Any shape of the families: H up to kMaxHidden; D even; V and F any. Rows that are multiples
// of 8 elements and start at multiples of 16 bytes go in 16-byte pieces. Others take a slower path
// (cross-entropy is as fast for any V).
//
// Deterministic: no floating-point atomics; the order of every sum depends on shapes and alignment
// alone. So the same input gives the same bits on every run and on every device of one
// architecture.
//
// All functions only enqueue on the stream and are thread-safe. They return the launch's error, or
// cudaErrorInvalidValue for a shape or combination of dtypes that is not described here. Nothing to
// do (0 rows) is a success. Pointers may be the same only where said.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace trainctl::ops::fused {

enum class Type : uint8_t { kBf16, kF32 };

inline constexpr int64_t kMaxHidden = 16384;

// The norms of norm.h. out = x̂ · weight, with bias + bias. Without bias x̂ = x · rstd, rstd = 1 /
// sqrt(mean(x²) + eps). With bias x̂ = (x − mean) · rstd, rstd = 1 / sqrt(mean((x − mean)²) + eps).
// Reads x from memory once, writes out. out may be x.
struct Norm {
  Type element = Type::kBf16;
  int64_t rows = 0;
  int64_t hidden = 0;
  const void* x = nullptr;       // [N, H]
  const void* weight = nullptr;  // [H], element
  const void* bias = nullptr;    // [H], element; null: RMSNorm
  void* out = nullptr;           // [N, H]
  float* rstd = nullptr;         // [N]
  float* mean = nullptr;         // [N], with bias
  float eps = 0;
};
[[nodiscard]] cudaError_t NormForward(const Norm& norm, cudaStream_t stream);

// With g = grad · weight:
//   input_grad = residual_grad + rstd · (g − x̂ · mean(g · x̂)), with bias − rstd · mean(g)
//   normalized = the forward's output again
//   weight_grad = beta · weight_grad + Σ over rows of grad · x̂
//   bias_grad = beta · bias_grad + Σ over rows of grad
// Reads residual_grad once, grad and x too, and once more where weight_grad is wanted. input_grad
// may be grad or residual_grad; normalized may be grad or x; the two differ.
struct NormGrad {
  Type element = Type::kBf16;
  int64_t rows = 0;
  int64_t hidden = 0;
  const void* grad = nullptr;           // [N, H], of the output
  const void* x = nullptr;              // [N, H]
  const void* weight = nullptr;         // [H], element
  const void* bias = nullptr;           // [H], element; null: RMSNorm
  const float* rstd = nullptr;          // [N]
  const float* mean = nullptr;          // [N], with bias
  const void* residual_grad = nullptr;  // [N, H], or null: zero
  void* input_grad = nullptr;           // [N, H]
  void* normalized = nullptr;           // [N, H], or null: not wanted
  void* weight_grad = nullptr;          // [H], or null: not wanted
  void* bias_grad = nullptr;            // [H], wanted where weight_grad is and there is a bias
  Type grad_type = Type::kBf16;         // of both
  float weight_grad_beta = 0;           // 0: what weight_grad holds is not read
  float bias_grad_beta = 0;
};
[[nodiscard]] cudaError_t NormBackward(const NormGrad& norm, cudaStream_t stream);

// grad = beta · grad + Σ over rows of some columns: of a bias.
struct ColumnGrad {
  void* grad = nullptr;  // [columns]
  int64_t columns = 0;
  float beta = 0;  // 0: what grad holds is not read
};
// Of the columns of x, which are those of up to three biases side by side.
inline constexpr int kMaxColumnGrads = 3;
struct ColumnSum {
  Type element = Type::kBf16;
  int64_t rows = 0;
  int64_t row_stride = 0;   // elements from a row to the next: x may be a part of wider rows
  const void* x = nullptr;  // [N, Σ columns]
  ColumnGrad grads[kMaxColumnGrads] = {};
  Type grad_type = Type::kBf16;
};
[[nodiscard]] cudaError_t AddColumnSums(const ColumnSum& sum, cudaStream_t stream);

// out [N, columns] = x + row [columns] in each row; out may be x.
struct RowSum {
  Type element = Type::kBf16;
  int64_t rows = 0;
  int64_t columns = 0;
  const void* x = nullptr;
  const void* row = nullptr;
};
[[nodiscard]] cudaError_t AddRow(const RowSum& sum, void* out, cudaStream_t stream);

// The packed rows [heads · D | kv_heads · D | kv_heads · D] of q, k and v; row n is position n mod
// length of sample n / length.
struct PackedHeads {
  Type element = Type::kBf16;
  int64_t batch = 0;
  int64_t length = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  const float* cos = nullptr;  // [length, D / 2]; null, backward only: nothing is rotated
  const float* sin = nullptr;  // [length, D / 2]
};

// Rotary embedding (Su et al. 2021; halves, not neighbours, are pairs) of the q and k heads of qkv
// [N, packed], in place.
[[nodiscard]] cudaError_t RopeForward(const PackedHeads& heads, void* qkv, cudaStream_t stream);

// A gradient [batch, heads or kv_heads, length, D] in elements, of any strides (counted in
// elements).
struct StridedHeads {
  const void* data = nullptr;
  int64_t batch_stride = 0;
  int64_t head_stride = 0;
  int64_t position_stride = 0;
  int64_t element_stride = 1;
};
// Packs the gradients of q, k and v into qkv_grad [N, packed], those of q and k rotated back.
// Nothing may overlap.
[[nodiscard]] cudaError_t RopeBackward(const PackedHeads& heads, const StridedHeads& q_grad,
                                       const StridedHeads& k_grad, const StridedHeads& v_grad,
                                       void* qkv_grad, cudaStream_t stream);

// out [N, F] = silu(gate) · up of gate_up [N, 2F] = [gate | up] (Shazeer 2020).
[[nodiscard]] cudaError_t SwiGluForward(Type element, int64_t rows, int64_t ffn,
                                        const void* gate_up, void* out, cudaStream_t stream);
// gate_up becomes its own gradient. grad [N, F] is that of the output. If output_wanted it becomes
// the forward's output again, for the weight gradient behind it; else it is not written.
[[nodiscard]] cudaError_t SwiGluBackward(Type element, int64_t rows, int64_t ffn, void* grad,
                                         void* gate_up, bool output_wanted, cudaStream_t stream);

// out = x · Φ(x) of `count` elements (Hendrycks and Gimpel 2016), Φ the normal distribution.
[[nodiscard]] cudaError_t GeluForward(Type element, int64_t count, const void* x, void* out,
                                      cudaStream_t stream);
// x becomes its own gradient. grad is that of the output. If output_wanted it becomes the forward's
// output again; else it is not written.
[[nodiscard]] cudaError_t GeluBackward(Type element, int64_t count, void* grad, void* x,
                                       bool output_wanted, cudaStream_t stream);

// Dropout of x [N, columns], whose row n is row first_row + n of a micro batch: position mod length
// of sample div length. What is kept is a function of (seed, samples[…], module, element) as
// philox.h says. Rows that are multiples of 8 elements are fast.
struct Dropout {
  Type element = Type::kBf16;
  int64_t rows = 0;
  int64_t columns = 0;
  const void* x = nullptr;           // [N, columns]
  const int64_t* samples = nullptr;  // of the whole micro batch, on the device
  int64_t length = 1;
  int64_t first_row = 0;
  uint64_t seed = 0;
  uint32_t module = 0;
  uint32_t threshold = 0;  // of 65,536
  float scale = 1;         // of what is kept
};
// out [N, columns] = dropout(x); out may be x.
[[nodiscard]] cudaError_t DropoutForward(const Dropout& dropout, void* out, cudaStream_t stream);
// out [N, columns] = sum + dropout(x); out may be sum or x.
[[nodiscard]] cudaError_t DropoutAdd(const Dropout& dropout, const void* sum, void* out,
                                     cudaStream_t stream);

// Attention of few queries of each sample over keys of something else, without a mask: bf16, heads
// of 64. q [batch · queries, heads · D]; key_value [batch · keys, 2 · heads · D], keys before
// values. The probabilities [batch, heads, queries, keys] are subject to dropout: each head's are
// `queries` rows of its sample, as philox.h counts them.
struct CrossAttention {
  int64_t batch = 0;
  int64_t heads = 0;
  int64_t queries = 0;
  int64_t keys = 0;
  float softmax_scale = 1;
  const int64_t* samples = nullptr;  // [batch] on the device; null: nothing is dropped
  uint64_t seed = 0;
  uint32_t module = 0;
  uint32_t threshold = 0;  // of 65,536
  float scale = 1;         // of what is kept
};
// Whether there are kernels for so many: up to 32 queries, and what shared memory holds of keys,
// some 600.
bool HasCrossAttention(Type element, int64_t queries, int64_t keys, int64_t head_dim);
// Writes out [batch · queries, heads · D], and the probabilities before the dropout.
[[nodiscard]] cudaError_t CrossAttentionForward(const CrossAttention& attention, const void* q,
                                                const void* key_value, void* out,
                                                void* probabilities, cudaStream_t stream);
struct CrossAttentionGrad {
  const void* q = nullptr;
  const void* key_value = nullptr;
  const void* out = nullptr;            // as the forward wrote it
  const void* probabilities = nullptr;  // likewise
  const void* grad = nullptr;           // of out
  void* q_grad = nullptr;
  void* key_value_grad = nullptr;  // null: not wanted
};
[[nodiscard]] cudaError_t CrossAttentionBackward(const CrossAttention& attention,
                                                 const CrossAttentionGrad& grad,
                                                 cudaStream_t stream);

// losses[n] = logsumexp(logits[n]) − logits[n, targets[n]]; 0 where targets[n] is negative (−100:
// ignored). A target beyond V gives NaN.
struct CrossEntropy {
  Type element = Type::kBf16;
  int64_t rows = 0;
  int64_t vocab = 0;
  void* logits = nullptr;            // [n, V]
  const int64_t* targets = nullptr;  // [n]
  float* losses = nullptr;           // [n]
};
// The losses alone; logits are read once and not written.
[[nodiscard]] cudaError_t CrossEntropyForward(const CrossEntropy& loss, cudaStream_t stream);
// Also turns logits into their gradient: (softmax − onehot) · scale, 0 in ignored rows. The factor
// is host_scale · *device_scale (null: 1); device_scale is read when the kernel runs.
[[nodiscard]] cudaError_t CrossEntropyForwardBackward(const CrossEntropy& loss, float host_scale,
                                                      const float* device_scale,
                                                      cudaStream_t stream);

// weight_grad[v] = beta · weight_grad[v] + Σ of the rows of grad whose id is v. The sum is in fp32,
// in a fixed order. beta is 0 (rows that no id names become 0) or 1. ids outside 0 … V − 1 are
// skipped.
struct EmbeddingGrad {
  Type element = Type::kBf16;
  int64_t rows = 0;
  int64_t hidden = 0;
  int64_t vocab = 0;
  const void* grad = nullptr;    // [N, H]
  const int64_t* ids = nullptr;  // [N]
  void* weight_grad = nullptr;   // [V, H]
  Type weight_grad_type = Type::kBf16;
  float beta = 0;
  void* workspace = nullptr;  // EmbeddingWorkspaceBytes, 16-byte aligned
};
[[nodiscard]] cudaError_t EmbeddingBackward(const EmbeddingGrad& embedding, cudaStream_t stream);
size_t EmbeddingWorkspaceBytes(int64_t rows);

// Matrices in 4 bits, see nf4.h: count is a multiple of 64. Quantizing writes codes [count / 2] and
// scales [count / 64].
[[nodiscard]] cudaError_t Nf4Quantize(Type element, int64_t count, const void* values,
                                      uint8_t* codes, float* scales, cudaStream_t stream);
struct Nf4 {
  int64_t count = 0;
  const uint8_t* codes = nullptr;  // [count / 2], 4-byte aligned
  const float* scales =
      nullptr;  // [count / 64]; null under double quantization, where these are instead:
  const uint8_t* scale_codes = nullptr;  // [count / 64]
  const float* scale_scales = nullptr;   // [⌈count / 64 / 256⌉]
  const float* offset = nullptr;         // one
  const float* map = nullptr;            // [256] what a scale's code means
};
// out [count], 16-byte aligned, of the element's dtype.
[[nodiscard]] cudaError_t Nf4Dequantize(const Nf4& matrix, Type element, void* out,
                                        cudaStream_t stream);

// What one optimizer step updates: flat buffers of count elements, each 16-byte aligned. The dtypes
// of (parameters, gradients, moments): all bf16; all fp32; fp32 parameters and moments with bf16
// gradients; bf16 with fp32 moments. compute_copy (fp32 parameters only; null: none) is written
// from the updated parameters. Moments and parameters stay in registers between uses: only what is
// stored is rounded.
struct FlatParameters {
  int64_t count = 0;
  Type parameter_type = Type::kBf16;
  Type grad_type = Type::kBf16;
  bool fp32_moments = false;  // of bf16 parameters
  void* parameters = nullptr;
  const void* grads = nullptr;
  void* compute_copy = nullptr;  // bf16
  const float* grad_scale =
      nullptr;  // on the device; gradients are multiplied by it (clipping). null: 1
};

// AdamW as torch.optim's (Loshchilov and Hutter 2019). step counts from 1.
struct AdamWStep {
  int64_t step = 1;
  double lr = 0;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;
};
[[nodiscard]] cudaError_t AdamW(const FlatParameters& flat, void* first_moments,
                                void* second_moments, const AdamWStep& step, cudaStream_t stream);

// One 8-bit dynamic data type (dynamic_map.h) for a quick search: code(x) = the number of bounds
// below x. Numbers are sorted into cells by sign and the upper 16 bits of their magnitude. The tiny
// ones are in the first cell, 1 and more in the last. `first` is the code of a cell's least number.
// No cell has more than two codes: code(x) = first + (bound[first] < x).
inline constexpr uint32_t kFirstCell = 0x3400;  // magnitudes below 2^-23 and a little
inline constexpr uint32_t kCells = 0x3f80 - kFirstCell + 1;
struct DynamicTable {
  float value[256];
  float bound[256];                        // the last: infinity
  uint8_t first[2][(kCells + 3) / 4 * 4];  // [x is negative][cell]
};
struct DynamicTables {
  DynamicTable of_signed, of_unsigned;
};

// AdamW with moments in 8 bits as bitsandbytes' AdamW8bit: in blocks of 256 elements. The moments
// of each are codes of moment / absmax, signed for the first and unsigned for the second. The
// update is made with the moments before they are rounded to codes. flat.count must be a multiple
// of 256 (padding: zeros); fp32_moments does not apply.
inline constexpr int64_t kMomentBlock = 256;
struct EightBitMoments {
  uint8_t* first = nullptr;               // [count], 8-byte aligned
  uint8_t* second = nullptr;              //
  float* first_absmax = nullptr;          // [count / 256]
  float* second_absmax = nullptr;         //
  const DynamicTables* tables = nullptr;  // on the device
};
[[nodiscard]] cudaError_t AdamW8bit(const FlatParameters& flat, const EightBitMoments& moments,
                                    const AdamWStep& step, cudaStream_t stream);

// SGD as torch.optim's, with weight decay in the gradient; momenta start at zero, null: no
// momentum.
struct SgdStep {
  double lr = 0;
  double momentum = 0;
  double weight_decay = 0;
};
[[nodiscard]] cudaError_t Sgd(const FlatParameters& flat, void* momenta, const SgdStep& step,
                              cudaStream_t stream);

// *sum = beta · *sum + Σ values², summed in fp64. values: 16-byte aligned. beta is 0 (*sum is not
// read) or 1. workspace: kNormWorkspaceDoubles.
inline constexpr size_t kNormWorkspaceDoubles = 1024;
[[nodiscard]] cudaError_t AddNormSquared(Type type, int64_t count, const void* values, double beta,
                                         double* sum, double* workspace, cudaStream_t stream);

}  // namespace trainctl::ops::fused
