// The CPU's AdamW: three instruction sets, one result.
#include "worker/rank/optim/adam_kernel.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace trainctl::optim {
namespace {

constexpr AdamRule kRule{.factors = {.decay = 0.999f,
                                     .beta1 = 0.9f,
                                     .one_minus_beta1 = 0.1f,
                                     .beta2 = 0.95f,
                                     .one_minus_beta2 = 0.05f,
                                     .step_size = 0.02f,
                                     .second_scale = 1.7f,
                                     .eps = 1e-8f},
                         .grad_scale = 0.37f};

// Memory that one update reads and writes. The gradient's bytes serve as bf16 or as fp32; every
// 16-bit pattern occurs, NaN included.
struct Memory {
  explicit Memory(int64_t count)
      : master(count), first(count), second(count), grad(count), out(count + 16) {
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    for (int64_t i = 0; i < count; ++i) {
      master[i] = normal(random);
      first[i] = normal(random) * 1e-3f;
      second[i] = std::abs(normal(random)) * 1e-6f;
      grad[i] = i % 97 == 0 ? 0.0f : normal(random) * std::exp(3 * normal(random));
    }
    for (const auto& [at, value] :
         {std::pair<int64_t, float>{3, std::numeric_limits<float>::quiet_NaN()},
          {5, 1e-42f},
          {8, 3e38f}}) {
      if (at < count) grad[at] = value;
    }
  }
  AdamTile Tile(bool bf16_grad, AdamOut out_type, int64_t out_offset) {
    return {.count = static_cast<int64_t>(master.size()),
            .master = master.data(),
            .first = first.data(),
            .second = second.data(),
            .bf16_grad = bf16_grad,
            .grad = grad.data(),
            .out_type = out_type,
            .out = out_type == AdamOut::kNone ? nullptr : AlignedOut() + out_offset};
  }
  float* AlignedOut() {
    return out.data() + (64 - reinterpret_cast<uintptr_t>(out.data()) % 64) % 64 / 4;
  }

  std::vector<float> master, first, second, grad, out;
};

void ExpectSameBits(const std::vector<float>& a, const std::vector<float>& b,
                    const std::string& what) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_TRUE(std::memcmp(&a[i], &b[i], sizeof(float)) == 0 ||
                (std::isnan(a[i]) && std::isnan(b[i])))
        << what << " " << i;
  }
}

TEST(AdamKernel, AllInstructionSetsAgreeBitForBit) {
  for (const AdamPath& path : AdamPaths()) {
    for (const int64_t count : {1, 15, 16, 33, 4099}) {
      for (const AdamOut out : {AdamOut::kNone, AdamOut::kBf16, AdamOut::kF32}) {
        for (const int variant : {0, 1, 2, 3}) {
          const bool bf16_grad = variant % 2 == 0;
          const int64_t out_offset = variant < 2 ? 0 : 1;
          const std::string what =
              std::string(path.name) + " " + std::to_string(count) + " " + std::to_string(variant);
          Memory actual(count), expected(count);
          path.kernel(kRule, actual.Tile(bf16_grad, out, out_offset));
          AdamScalar(kRule, expected.Tile(bf16_grad, out, out_offset));
          ExpectSameBits(actual.master, expected.master, what);
          ExpectSameBits(actual.first, expected.first, what);
          ExpectSameBits(actual.second, expected.second, what);
          const size_t bytes = static_cast<size_t>(count) * (out == AdamOut::kBf16 ? 2 : 4);
          if (out != AdamOut::kF32) {
            EXPECT_EQ(std::memcmp(actual.AlignedOut() + out_offset,
                                  expected.AlignedOut() + out_offset, bytes),
                      0)
                << what;
          }
        }
      }
    }
  }
}

TEST(AdamKernel, TheCopyIsTheMasterRoundedToNearestEven) {
  Memory memory(1);
  const AdamRule keep{.factors = {.beta1 = 1,
                                  .one_minus_beta1 = 0,
                                  .beta2 = 1,
                                  .one_minus_beta2 = 0,
                                  .step_size = 0,
                                  .eps = 1}};
  const auto rounded = [&](uint32_t bits) {
    std::memcpy(memory.master.data(), &bits, sizeof bits);
    memory.grad[0] = 0;
    AdamPaths().front().kernel(keep, memory.Tile(false, AdamOut::kBf16, 0));
    uint16_t half = 0;
    std::memcpy(&half, memory.AlignedOut(), sizeof half);
    return half;
  };
  EXPECT_EQ(rounded(0x3f808000), 0x3f80);  // a tie, down to even
  EXPECT_EQ(rounded(0x3f818000), 0x3f82);  // a tie, up to even
  EXPECT_EQ(rounded(0x3f808001), 0x3f81);
  EXPECT_EQ(rounded(0x7f7fffff), 0x7f80);  // beyond the largest: infinity
}

TEST(AdamKernel, TheFastestThatTheMachineHasComesFirstAndScalarIsAlwaysThere) {
  ASSERT_FALSE(AdamPaths().empty());
  EXPECT_STREQ(AdamPaths().back().name, "scalar");
  EXPECT_EQ(AdamPaths().size() > 1, static_cast<bool>(__builtin_cpu_supports("avx2")));
}

}  // namespace
}  // namespace trainctl::optim
