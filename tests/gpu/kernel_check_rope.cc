#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/full.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/sin.h>

#include <cmath>

#include "tests/gpu/kernel_checks.h"
#include "tests/gpu/kernel_device.h"

namespace trainctl::gpu {
namespace {

namespace fused = ops::fused;

struct HeadsCase {
  int64_t batch, length, heads, kv_heads, head_dim;
};

const HeadsCase kHeadsCases[] = {{1, 1, 1, 1, 2},       {2, 5, 4, 2, 6},     {3, 17, 9, 3, 64},
                                 {2, 64, 32, 4, 64},    {2, 33, 2, 1, 100},  {1, 40, 32, 32, 100},
                                 {2, 128, 32, 8, 128},  {1, 50, 3, 1, 256},  {1, 9, 2, 2, 20},
                                 {1, 512, 32, 32, 128}, {2, 257, 16, 16, 88}};

struct AngleTable {
  at::Tensor cos, sin;  // [length, D / 2] fp32
};

AngleTable MakeAngles(const HeadsCase& c) {
  const at::Tensor exponents =
      at::arange(0, c.head_dim, 2, On(at::kDouble)) / static_cast<double>(c.head_dim);
  const at::Tensor angles =
      at::outer(at::arange(c.length, On(at::kDouble)), at::pow(10000.0, exponents).reciprocal());
  return {at::cos(angles).to(at::kFloat), at::sin(angles).to(at::kFloat)};
}

fused::PackedHeads Describe(const HeadsCase& c, const AngleTable& angles,
                            const at::Tensor& packed) {
  return {.element = TypeOf(packed),
          .batch = c.batch,
          .length = c.length,
          .heads = c.heads,
          .kv_heads = c.kv_heads,
          .head_dim = c.head_dim,
          .cos = angles.cos.data_ptr<float>(),
          .sin = angles.sin.data_ptr<float>()};
}

// heads [batch, length, heads, D] in float64, turned by sign · angle.
at::Tensor Rotated(const at::Tensor& heads, const AngleTable& angles, double sign) {
  const int64_t half = heads.size(3) / 2;
  const at::Tensor a = heads.narrow(3, 0, half), b = heads.narrow(3, half, half);
  const at::Tensor c = angles.cos.to(at::kDouble).unsqueeze(1),
                   s = angles.sin.to(at::kDouble).unsqueeze(1) * sign;
  return at::cat({a * c - b * s, b * c + a * s}, 3);
}

void CheckRopeForward(Checks& checks, const HeadsCase& c, at::ScalarType type, bool misaligned) {
  const std::string name = "RopeForward " + NameOf(type) +
                           Text({c.batch, c.length, c.heads, c.kv_heads, c.head_dim, misaligned});
  const int64_t all = c.heads + 2 * c.kv_heads, rotated = c.heads + c.kv_heads;
  const at::Tensor before = Random({c.batch * c.length, all * c.head_dim}, type);
  const at::Tensor qkv = misaligned ? Misaligned(before) : before.clone();
  const AngleTable angles = MakeAngles(c);
  C10_CUDA_CHECK(fused::RopeForward(Describe(c, angles, qkv), qkv.data_ptr(), Stream()));
  const at::Tensor heads = before.to(at::kDouble).view({c.batch, c.length, all, c.head_dim});
  const at::Tensor want = at::cat(
      {Rotated(heads.narrow(2, 0, rotated), angles, 1), heads.narrow(2, rotated, c.kv_heads)}, 2);
  checks.Near(name, qkv.view({c.batch, c.length, all, c.head_dim}), want);
}

// How an attention kernel may hand out its gradients.
enum class Layout { kHeadsFirst, kPositionsFirst, kPadded, kReversedElements, kMisaligned };

at::Tensor RandomHeads(const HeadsCase& c, int64_t heads, at::ScalarType type, Layout layout) {
  switch (layout) {
    case Layout::kHeadsFirst: return Random({c.batch, heads, c.length, c.head_dim}, type);
    case Layout::kPositionsFirst:
      return Random({c.batch, c.length, heads, c.head_dim}, type).transpose(1, 2);
    case Layout::kPadded:
      return Random({c.batch, heads, c.length, c.head_dim + 4}, type).narrow(3, 0, c.head_dim);
    case Layout::kReversedElements:
      return Random({c.head_dim, c.batch, heads, c.length}, type).permute({1, 2, 3, 0});
    case Layout::kMisaligned:
      return Misaligned(Random({c.batch, heads, c.length, c.head_dim}, type));
  }
  return {};
}

fused::StridedHeads Strided(const at::Tensor& heads) {
  return {heads.data_ptr(), heads.stride(0), heads.stride(1), heads.stride(2), heads.stride(3)};
}

void CheckRopeBackward(Checks& checks, const HeadsCase& c, at::ScalarType type, Layout layout) {
  const std::string name =
      "RopeBackward " + NameOf(type) +
      Text({c.batch, c.length, c.heads, c.kv_heads, c.head_dim, static_cast<int64_t>(layout)});
  const at::Tensor q = RandomHeads(c, c.heads, type, layout),
                   k = RandomHeads(c, c.kv_heads, type, layout);
  const at::Tensor v = RandomHeads(c, c.kv_heads, type, Layout::kPositionsFirst);
  const int64_t all = c.heads + 2 * c.kv_heads;
  const at::Tensor packed =
      at::full({c.batch * c.length, all * c.head_dim}, std::nan(""), On(type));
  const AngleTable angles = MakeAngles(c);
  C10_CUDA_CHECK(fused::RopeBackward(Describe(c, angles, packed), Strided(q), Strided(k),
                                     Strided(v), packed.data_ptr(), Stream()));
  const auto rotated_back = [&](const at::Tensor& grad) {
    return Rotated(grad.to(at::kDouble).transpose(1, 2), angles, -1);
  };
  const at::Tensor want =
      at::cat({rotated_back(q), rotated_back(k), v.to(at::kDouble).transpose(1, 2)}, 2);
  checks.Near(name, packed.view({c.batch, c.length, all, c.head_dim}), want);
}

// Without angles nothing is rotated.
void CheckPacking(Checks& checks, const HeadsCase& c, at::ScalarType type, Layout layout) {
  const std::string name =
      "Packing " + NameOf(type) +
      Text({c.batch, c.length, c.heads, c.kv_heads, c.head_dim, static_cast<int64_t>(layout)});
  const at::Tensor q = RandomHeads(c, c.heads, type, layout),
                   k = RandomHeads(c, c.kv_heads, type, layout),
                   v = RandomHeads(c, c.kv_heads, type, layout);
  const int64_t all = c.heads + 2 * c.kv_heads;
  const at::Tensor packed =
      at::full({c.batch * c.length, all * c.head_dim}, std::nan(""), On(type));
  C10_CUDA_CHECK(fused::RopeBackward({.element = TypeOf(packed),
                                      .batch = c.batch,
                                      .length = c.length,
                                      .heads = c.heads,
                                      .kv_heads = c.kv_heads,
                                      .head_dim = c.head_dim},
                                     Strided(q), Strided(k), Strided(v), packed.data_ptr(),
                                     Stream()));
  checks.Equal(name, packed.view({c.batch, c.length, all, c.head_dim}),
               at::cat({q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)}, 2));
}

}  // namespace

void CheckRope(Checks& checks) {
  for (const HeadsCase& c : kHeadsCases) {
    for (const at::ScalarType type : kTypes) {
      CheckRopeForward(checks, c, type, false);
      CheckRopeForward(checks, c, type, true);
      for (const Layout layout : {Layout::kHeadsFirst, Layout::kPositionsFirst, Layout::kPadded,
                                  Layout::kReversedElements, Layout::kMisaligned}) {
        CheckRopeBackward(checks, c, type, layout);
        CheckPacking(checks, c, type, layout);
      }
    }
  }
}

}  // namespace trainctl::gpu
