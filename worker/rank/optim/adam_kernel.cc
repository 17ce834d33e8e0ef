#include "worker/rank/optim/adam_kernel.h"

namespace trainctl::optim {
namespace {

constexpr AdamPath kPaths[] = {{"AVX-512", AdamAvx512}, {"AVX2", AdamAvx2}, {"scalar", AdamScalar}};

size_t FirstSupported() {
  if (__builtin_cpu_supports("avx512f")) return 0;
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? 1 : 2;
}

}  // namespace

AdamTile AdamTile::Part(int64_t begin, int64_t end) const {
  AdamTile part = *this;
  part.count = end - begin;
  part.master += begin;
  part.first += begin;
  part.second += begin;
  part.grad = static_cast<const char*>(grad) + begin * (bf16_grad ? 2 : 4);
  if (out != nullptr)
    part.out = static_cast<char*>(out) + begin * (out_type == AdamOut::kBf16 ? 2 : 4);
  return part;
}

std::span<const AdamPath> AdamPaths() {
  static const size_t first = FirstSupported();
  return std::span(kPaths).subspan(first);
}

}  // namespace trainctl::optim
