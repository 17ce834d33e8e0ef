#include "tests/gpu/kernel_timing.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <vector>

#include "tests/gpu/kernel_device.h"
#include "worker/rank/ops/dynamic_map.h"
#include "worker/rank/ops/fused_nf4.h"

namespace trainctl::gpu {
namespace {

namespace fused = ops::fused;

constexpr int64_t kBatch = 8, kLength = 512, kRows = kBatch * kLength, kHidden = 4096, kFfn = 11008,
                  kVocab = 32000;
constexpr int64_t kHeads = 32, kHeadDim = 128;
constexpr int64_t kVisionRows = 16 * 257, kVisionHidden = 1408;  // ViT-g on 16 pictures
constexpr int64_t kChunkRows = 2048;                             // of logits
constexpr int64_t kBlockParameters = 202'383'360;                // of one transformer block
constexpr auto kBf16 = at::kBFloat16;

// Median of 20 runs, each after the second-level cache was flushed by writing 256 MiB.
double MicrosecondsOf(const std::function<void()>& kernel) {
  const at::Tensor flush = at::empty({256 << 20}, On(at::kByte));
  cudaEvent_t begin, end;
  C10_CUDA_CHECK(cudaEventCreate(&begin));
  C10_CUDA_CHECK(cudaEventCreate(&end));
  std::vector<float> milliseconds(20);
  for (float& time : milliseconds) {
    flush.zero_();
    C10_CUDA_CHECK(cudaEventRecord(begin, Stream()));
    kernel();
    C10_CUDA_CHECK(cudaEventRecord(end, Stream()));
    C10_CUDA_CHECK(cudaEventSynchronize(end));
    C10_CUDA_CHECK(cudaEventElapsedTime(&time, begin, end));
  }
  C10_CUDA_CHECK(cudaEventDestroy(begin));
  C10_CUDA_CHECK(cudaEventDestroy(end));
  std::nth_element(milliseconds.begin(), milliseconds.begin() + 10, milliseconds.end());
  return milliseconds[10] * 1e3;
}

class Table {
 public:
  Table() {
    const at::Tensor from = at::empty({int64_t{1} << 30}, On(at::kByte)), to = at::empty_like(from);
    copy_bytes_per_second_ = 2.0 * (1 << 30) / (MicrosecondsOf([&] { to.copy_(from); }) * 1e-6);
    std::printf("%-34s %9s %9s %8s\n%-34s %9s %9.0f %8s\n", "bf16, 4,096 tokens, 7B unless said",
                "us", "GB/s", "of copy", "device copy", "", copy_bytes_per_second_ * 1e-9, "");
  }
  void Row(const char* name, double bytes, const std::function<void()>& kernel) const {
    const double microseconds = MicrosecondsOf(kernel);
    const double rate = bytes / (microseconds * 1e-6);
    std::printf("%-34s %9.1f %9.0f %7.0f%%\n", name, microseconds, rate * 1e-9,
                100 * rate / copy_bytes_per_second_);
  }

 private:
  double copy_bytes_per_second_ = 0;
};

// bias undefined: RMSNorm.
void TimeNorm(const Table& table, const std::string& name, const at::Tensor& bias, int64_t rows,
              int64_t hidden) {
  const at::Tensor x = Random({rows, hidden}, kBf16), grad = Random({rows, hidden}, kBf16),
                   residual = Random({rows, hidden}, kBf16);
  const bool has_bias = bias.defined();
  const void* bias_data = has_bias ? bias.data_ptr() : nullptr;
  const at::Tensor weight = at::ones({hidden}, On(kBf16)),
                   weight_grad = at::zeros({hidden}, On(kBf16)),
                   bias_grad = at::zeros({hidden}, On(kBf16)), out = at::empty_like(x);
  const at::Tensor again = at::empty_like(x), rstd = at::ones({rows}, On(at::kFloat)),
                   mean = at::zeros({rows}, On(at::kFloat));
  float* const means = has_bias ? mean.data_ptr<float>() : nullptr;
  const double bytes = 2.0 * rows * hidden;
  table.Row((name + "Forward").c_str(), 2 * bytes, [&] {
    C10_CUDA_CHECK(fused::NormForward({.rows = rows,
                                       .hidden = hidden,
                                       .x = x.data_ptr(),
                                       .weight = weight.data_ptr(),
                                       .bias = bias_data,
                                       .out = out.data_ptr(),
                                       .rstd = rstd.data_ptr<float>(),
                                       .mean = means,
                                       .eps = 1e-5f},
                                      Stream()));
  });
  table.Row((name + "Backward").c_str(), 5 * bytes, [&] {
    C10_CUDA_CHECK(fused::NormBackward({.rows = rows,
                                        .hidden = hidden,
                                        .grad = grad.data_ptr(),
                                        .x = x.data_ptr(),
                                        .weight = weight.data_ptr(),
                                        .bias = bias_data,
                                        .rstd = rstd.data_ptr<float>(),
                                        .mean = means,
                                        .residual_grad = residual.data_ptr(),
                                        .input_grad = out.data_ptr(),
                                        .normalized = again.data_ptr(),
                                        .weight_grad = weight_grad.data_ptr(),
                                        .bias_grad = has_bias ? bias_grad.data_ptr() : nullptr},
                                       Stream()));
  });
}

void TimeNorms(const Table& table) {
  TimeNorm(table, "RmsNorm", {}, kRows, kHidden);
  TimeNorm(table, "RmsNorm (13B) ", {}, kRows, 5120);
  TimeNorm(table, "LayerNorm", at::ones({kHidden}, On(kBf16)), kRows, kHidden);
  TimeNorm(table, "LayerNorm (ViT-g) ", at::ones({kVisionHidden}, On(kBf16)), kVisionRows,
           kVisionHidden);
  TimeNorm(table, "LayerNorm (OPT) ", at::ones({2560}, On(kBf16)), 16 * 82, 2560);
}

void TimeColumnSum(const Table& table) {
  const at::Tensor x = Random({kVisionRows, 4 * kVisionHidden}, kBf16),
                   grad = at::zeros({4 * kVisionHidden}, On(kBf16));
  table.Row("ColumnSum (ViT-g)", 2.0 * static_cast<double>(x.numel()), [&] {
    C10_CUDA_CHECK(fused::AddColumnSums(
        {.rows = kVisionRows,
         .row_stride = x.size(1),
         .x = x.data_ptr(),
         .grads = {{.grad = grad.data_ptr(), .columns = x.size(1), .beta = 1}}},
        Stream()));
  });
  const at::Tensor narrow = Random({kVisionRows, kVisionHidden}, kBf16);
  table.Row("ColumnSum (ViT-g, hidden)", 2.0 * static_cast<double>(narrow.numel()), [&] {
    C10_CUDA_CHECK(fused::AddColumnSums(
        {.rows = kVisionRows,
         .row_stride = kVisionHidden,
         .x = narrow.data_ptr(),
         .grads = {{.grad = grad.data_ptr(), .columns = kVisionHidden, .beta = 1}}},
        Stream()));
  });
}

void TimeGelu(const Table& table) {
  constexpr int64_t kVisionFfn = 6144;
  const at::Tensor x = Random({kVisionRows, kVisionFfn}, kBf16), grad = Random(x.sizes(), kBf16);
  const double bytes = 2.0 * static_cast<double>(x.numel());
  table.Row("GeluForward (ViT-g)", 2 * bytes, [&] {
    C10_CUDA_CHECK(
        fused::GeluForward(fused::Type::kBf16, x.numel(), x.data_ptr(), grad.data_ptr(), Stream()));
  });
  table.Row("GeluBackward (ViT-g)", 4 * bytes, [&] {
    C10_CUDA_CHECK(fused::GeluBackward(fused::Type::kBf16, x.numel(), grad.data_ptr(), x.data_ptr(),
                                       true, Stream()));
  });
}

void TimeAddRow(const Table& table) {
  const at::Tensor x = Random({kVisionRows, kVisionHidden}, kBf16), out = at::empty_like(x),
                   row = Random({kVisionHidden}, kBf16);
  table.Row("AddRow (ViT-g)", 4.0 * static_cast<double>(x.numel()), [&] {
    C10_CUDA_CHECK(fused::AddRow(
        {.rows = kVisionRows, .columns = kVisionHidden, .x = x.data_ptr(), .row = row.data_ptr()},
        out.data_ptr(), Stream()));
  });
}

void TimeRope(const Table& table) {
  const at::Tensor angles = Random({kLength, kHeadDim / 2}, at::kFloat),
                   qkv = Random({kRows, 3 * kHidden}, kBf16);
  const at::Tensor grad = Random({kBatch, kLength, kHeads, kHeadDim}, kBf16);
  const fused::PackedHeads heads{.batch = kBatch,
                                 .length = kLength,
                                 .heads = kHeads,
                                 .kv_heads = kHeads,
                                 .head_dim = kHeadDim,
                                 .cos = angles.data_ptr<float>(),
                                 .sin = angles.data_ptr<float>()};
  const fused::StridedHeads strided{grad.data_ptr(), kLength * kHidden, kHeadDim, kHidden, 1};
  const double bytes = 2.0 * kRows * kHidden;
  table.Row("RopeForward", 4 * bytes,
            [&] { C10_CUDA_CHECK(fused::RopeForward(heads, qkv.data_ptr(), Stream())); });
  const at::Tensor k_grad = grad.clone(), v_grad = grad.clone();
  const fused::StridedHeads k{k_grad.data_ptr(), kLength * kHidden, kHeadDim, kHidden, 1},
      v{v_grad.data_ptr(), kLength * kHidden, kHeadDim, kHidden, 1};
  table.Row("RopeBackward", 6 * bytes, [&] {
    C10_CUDA_CHECK(fused::RopeBackward(heads, strided, k, v, qkv.data_ptr(), Stream()));
  });
}

void TimeDropout(const Table& table) {
  const at::Tensor x = Random({kRows, kHidden}, kBf16), out = at::empty_like(x),
                   samples = at::arange(0, kBatch, On(at::kLong));
  const fused::Dropout dropout{.element = fused::Type::kBf16,
                               .rows = kRows,
                               .columns = kHidden,
                               .x = x.data_ptr(),
                               .samples = samples.const_data_ptr<int64_t>(),
                               .length = kLength,
                               .threshold = 3277,
                               .scale = 1.0526f};
  const double bytes = 2.0 * kRows * kHidden;
  table.Row("DropoutForward", 2 * bytes,
            [&] { C10_CUDA_CHECK(fused::DropoutForward(dropout, out.data_ptr(), Stream())); });
  table.Row("DropoutAdd", 3 * bytes, [&] {
    C10_CUDA_CHECK(fused::DropoutAdd(dropout, out.data_ptr(), out.data_ptr(), Stream()));
  });
}

// Of a Q-Former on 16 pictures.
void TimeAttentions(const Table& table) {
  constexpr int64_t kCaptions = 16, kQueries = 32, kHeadsOfQueries = 12, kWidth = 768;
  const at::Tensor samples = at::arange(0, kCaptions, On(at::kLong));
  for (const int64_t keys : {32, 257}) {
    const at::Tensor q = Random({kCaptions * kQueries, kWidth}, kBf16), q_grad = at::empty_like(q),
                     key_value = Random({kCaptions * keys, 2 * kWidth}, kBf16),
                     key_value_grad = at::empty_like(key_value), rows = at::empty_like(q),
                     probabilities =
                         at::empty({kCaptions, kHeadsOfQueries, kQueries, keys}, On(kBf16));
    const fused::CrossAttention cross{.batch = kCaptions,
                                      .heads = kHeadsOfQueries,
                                      .queries = kQueries,
                                      .keys = keys,
                                      .softmax_scale = 0.125f,
                                      .samples = samples.const_data_ptr<int64_t>(),
                                      .threshold = 6554,
                                      .scale = 1.111f};
    const std::string name = "CrossAttention, " + std::to_string(keys) + " keys, ";
    const double moved =
        2.0 * static_cast<double>(2 * q.numel() + key_value.numel() + probabilities.numel());
    table.Row((name + "forward").c_str(), moved, [&] {
      C10_CUDA_CHECK(fused::CrossAttentionForward(cross, q.data_ptr(), key_value.data_ptr(),
                                                  rows.data_ptr(), probabilities.data_ptr(),
                                                  Stream()));
    });
    table.Row((name + "backward").c_str(),
              moved + 2.0 * static_cast<double>(2 * q.numel() + key_value.numel()), [&] {
                C10_CUDA_CHECK(
                    fused::CrossAttentionBackward(cross,
                                                  {.q = q.data_ptr(),
                                                   .key_value = key_value.data_ptr(),
                                                   .out = rows.data_ptr(),
                                                   .probabilities = probabilities.data_ptr(),
                                                   .grad = q.data_ptr(),
                                                   .q_grad = q_grad.data_ptr(),
                                                   .key_value_grad = key_value_grad.data_ptr()},
                                                  Stream()));
              });
  }
}

// A gate and up matrix.
void TimeNf4(const Table& table) {
  const at::Tensor values = Random({2 * kFfn, kHidden}, kBf16), out = at::empty_like(values),
                   map = ops::DynamicMap(true).to(at::kCUDA);
  const ops::Nf4Matrix plain = ops::FusedNf4Quantize(values, false),
                       twice = ops::FusedNf4Quantize(values, true);
  const double count = 2.0 * kFfn * kHidden;
  table.Row("Nf4Dequantize", count * (2 + 0.5 + 4.0 / 64),
            [&] { ops::FusedNf4DequantizeInto(out, plain, map); });
  table.Row("Nf4Dequantize, double", count * (2 + 0.5 + 1.0 / 64),
            [&] { ops::FusedNf4DequantizeInto(out, twice, map); });
}

void TimeSwiGlu(const Table& table) {
  const at::Tensor gate_up = Random({kRows, 2 * kFfn}, kBf16), out = Random({kRows, kFfn}, kBf16);
  const double bytes = 2.0 * kRows * kFfn;
  table.Row("SwiGluForward", 3 * bytes, [&] {
    C10_CUDA_CHECK(fused::SwiGluForward(fused::Type::kBf16, kRows, kFfn, gate_up.data_ptr(),
                                        out.data_ptr(), Stream()));
  });
  table.Row("SwiGluBackward", 6 * bytes, [&] {
    C10_CUDA_CHECK(fused::SwiGluBackward(fused::Type::kBf16, kRows, kFfn, out.data_ptr(),
                                         gate_up.data_ptr(), true, Stream()));
  });
}

void TimeHead(const Table& table) {
  const at::Tensor logits = Random({kChunkRows, kVocab}, kBf16),
                   targets = at::randint(0, kVocab, {kChunkRows}, On(at::kLong));
  const at::Tensor losses = at::empty({kChunkRows}, On(at::kFloat));
  const fused::CrossEntropy loss{.rows = kChunkRows,
                                 .vocab = kVocab,
                                 .logits = logits.data_ptr(),
                                 .targets = targets.data_ptr<int64_t>(),
                                 .losses = losses.data_ptr<float>()};
  const double bytes = 2.0 * kChunkRows * kVocab;
  table.Row("CrossEntropyForward, 2,048 rows", bytes,
            [&] { C10_CUDA_CHECK(fused::CrossEntropyForward(loss, Stream())); });
  table.Row("CrossEntropyForwardBackward", 2 * bytes, [&] {
    C10_CUDA_CHECK(fused::CrossEntropyForwardBackward(loss, 1e-3f, nullptr, Stream()));
  });
}

// ids: all different but for a fifth, which is one token, as padding is.
void TimeEmbedding(const Table& table) {
  const at::Tensor grad = Random({kRows, kHidden}, kBf16),
                   weight_grad = at::zeros({kVocab, kHidden}, On(kBf16));
  const at::Tensor ids = at::arange(kRows, On(at::kLong));
  ids.narrow(0, 0, kRows / 5).fill_(0);
  const at::Tensor workspace =
      at::empty({static_cast<int64_t>(fused::EmbeddingWorkspaceBytes(kRows))}, On(at::kByte));
  table.Row("EmbeddingBackward, beta 0", 2.0 * (2 * kRows + kVocab) * kHidden, [&] {
    C10_CUDA_CHECK(fused::EmbeddingBackward({.rows = kRows,
                                             .hidden = kHidden,
                                             .vocab = kVocab,
                                             .grad = grad.data_ptr(),
                                             .ids = ids.data_ptr<int64_t>(),
                                             .weight_grad = weight_grad.data_ptr(),
                                             .workspace = workspace.data_ptr()},
                                            Stream()));
  });
}

void TimeFlat(const Table& table, at::ScalarType type, bool with_copy, const char* adamw,
              const char* sgd, const char* norm) {
  const at::Tensor parameters = Random({kBlockParameters}, type),
                   grads = Random({kBlockParameters}, type);
  const at::Tensor first = at::zeros_like(parameters), second = at::zeros_like(parameters);
  const at::Tensor copy = with_copy ? at::empty({kBlockParameters}, On(kBf16)) : at::Tensor();
  const fused::FlatParameters flat{.count = kBlockParameters,
                                   .parameter_type = TypeOf(parameters),
                                   .grad_type = TypeOf(grads),
                                   .parameters = parameters.data_ptr(),
                                   .grads = grads.data_ptr(),
                                   .compute_copy = with_copy ? copy.data_ptr() : nullptr};
  const double bytes = static_cast<double>(parameters.nbytes()),
               copy_bytes = with_copy ? 2.0 * kBlockParameters : 0;
  table.Row(adamw, 7 * bytes + copy_bytes, [&] {
    C10_CUDA_CHECK(fused::AdamW(flat, first.data_ptr(), second.data_ptr(), {.lr = 1e-5}, Stream()));
  });
  table.Row(sgd, 5 * bytes + copy_bytes, [&] {
    C10_CUDA_CHECK(fused::Sgd(flat, first.data_ptr(), {.lr = 1e-5, .momentum = 0.9}, Stream()));
  });
  const at::Tensor sum = at::zeros({}, On(at::kDouble));
  const at::Tensor workspace =
      at::empty({static_cast<int64_t>(fused::kNormWorkspaceDoubles)}, On(at::kDouble));
  table.Row(norm, bytes, [&] {
    C10_CUDA_CHECK(fused::AddNormSquared(TypeOf(grads), kBlockParameters, grads.data_ptr(), 0,
                                         sum.data_ptr<double>(), workspace.data_ptr<double>(),
                                         Stream()));
  });
}

void TimeAdamW8bit(const Table& table) {
  const at::Tensor parameters = Random({kBlockParameters}, kBf16),
                   grads = Random({kBlockParameters}, kBf16);
  const at::Tensor first = at::zeros({kBlockParameters}, On(at::kByte)),
                   second = at::zeros_like(first);
  const at::Tensor first_absmax = at::zeros({kBlockParameters / 256}, On(at::kFloat)),
                   second_absmax = at::zeros_like(first_absmax);
  const at::Tensor tables = ops::DynamicTables(at::kCUDA);
  const fused::EightBitMoments moments{
      first.data_ptr<uint8_t>(), second.data_ptr<uint8_t>(), first_absmax.data_ptr<float>(),
      second_absmax.data_ptr<float>(),
      static_cast<const fused::DynamicTables*>(tables.const_data_ptr())};
  const fused::FlatParameters flat{
      .count = kBlockParameters, .parameters = parameters.data_ptr(), .grads = grads.data_ptr()};
  table.Row("AdamW8bit bf16, one block's parameters", 10.0625 * kBlockParameters,
            [&] { C10_CUDA_CHECK(fused::AdamW8bit(flat, moments, {.lr = 1e-5}, Stream())); });
}

}  // namespace

void TimeKernels() {
  const Table table;
  TimeNorms(table);
  TimeColumnSum(table);
  TimeAddRow(table);
  TimeGelu(table);
  TimeRope(table);
  TimeSwiGlu(table);
  TimeDropout(table);
  TimeAttentions(table);
  TimeNf4(table);
  TimeHead(table);
  TimeEmbedding(table);
  TimeFlat(table, kBf16, false, "AdamW bf16, one block's parameters", "Sgd with momentum bf16",
           "AddNormSquared bf16");
  TimeAdamW8bit(table);
  TimeFlat(table, at::kFloat, true, "AdamW fp32 and bf16 copy", "Sgd with momentum fp32 and copy",
           "AddNormSquared fp32");
}

}  // namespace trainctl::gpu
