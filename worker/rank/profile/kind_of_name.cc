#include "worker/rank/profile/kind_of_name.h"

#include <span>

#include "worker/rank/profile/range_names.h"

namespace trainctl::profile {
namespace {

using enum job::StepKind;

struct NamePart {
  std::string_view part;
  job::StepKind kind;
};

// The first row that the name contains decides.
constexpr NamePart kKernels[] = {
    {"nccl", kCommunication},
    {"Memcpy PtoP", kCommunication},  // of a peer's shards
    // attention, before the products that it is made of
    {"sdpa", kAttention},  // cuDNN
    {"fmha", kAttention},  // LibTorch's memory-efficient one, and older cuDNN
    {"flash_", kAttention},
    {"attention", kAttention},
    {"dot_do_o", kAttention},       // its backward, of cuDNN
    {"convert_dq_to", kAttention},  // likewise
    // our optimizers, and LibTorch's
    {"UpdateKernel", kOptimizer},
    {"FusedOptimizer", kOptimizer},
    {"FusedAdam", kOptimizer},
    {"FusedSgd", kOptimizer},
    // products of matrices
    {"nvjet", kMatmul},  // cuBLAS from 12.8 on
    {"gemm", kMatmul},
    {"gemv", kMatmul},
    {"cutlass", kMatmul},
    {"splitKreduce", kMatmul},
    {"cublas", kMatmul},
    {"dot_kernel", kMatmul},
    // copies and fills that are kernels
    {"copy_kernel", kCopies},
    {"CatArrayBatchedCopy", kCopies},
    {"FillFunctor", kCopies},
    {"Memcpy", kCopies},
    {"Memset", kCopies},
};

constexpr NamePart kOperators[] = {
    {"attention", kAttention}, {"_fused_adam", kOptimizer}, {"_fused_sgd", kOptimizer},
    {"aten::mm", kMatmul},     {"addmm", kMatmul},          {"bmm", kMatmul},  // baddbmm too
    {"aten::matmul", kMatmul}, {"aten::linear", kMatmul},   {"aten::mv", kMatmul},
    {"aten::addmv", kMatmul},  {"convolution", kMatmul},  // of pictures' patches
    {"copy", kCopies},         {"aten::fill_", kCopies},    {"aten::zero", kCopies},
    {"aten::cat", kCopies},
};

constexpr NamePart kRanges[] = {
    {kDataRange, kData},
    {kAttentionRange, kAttention},
    {kOptimizerRange, kOptimizer},
    {kCollectiveRange, kCommunication},
};

job::StepKind FindPart(std::span<const NamePart> rows, std::string_view name) {
  for (const NamePart& row : rows) {
    if (name.find(row.part) != std::string_view::npos) return row.kind;
  }
  return kOther;
}

}  // namespace

job::StepKind KindOfKernel(std::string_view name) { return FindPart(kKernels, name); }

job::StepKind KindOfOperator(std::string_view name) { return FindPart(kOperators, name); }

std::optional<job::StepKind> KindOfRange(std::string_view name) {
  for (const NamePart& row : kRanges) {
    if (name == row.part) return row.kind;
  }
  return std::nullopt;
}

}  // namespace trainctl::profile
