// AdamW with 8-bit states against bitsandbytes (tests/baselines/generate_adamw8bit.py).
#include "worker/rank/optim/adamw_8bit.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tests/checkout.h"
#include "worker/rank/files/safetensors.h"
#include "worker/rank/ops/dynamic_map.h"
#include "worker/rank/ops/fused.h"

namespace trainctl::optim {
namespace {

struct Piece {
  const char* name;
  int64_t numel;
};
constexpr const char* kKinds[] = {"exp_avg", "exp_avg_sq", "exp_avg_absmax", "exp_avg_sq_absmax"};
constexpr Piece kPieces[] = {{"large", 4352}, {"tail", 4100}, {"small", 300}};

// The generator's numbers(size, seed).
at::Tensor Numbers(int64_t size, uint64_t seed) {
  std::vector<float> values(size);
  for (int64_t i = 0; i < size; ++i) {
    uint32_t h = static_cast<uint32_t>(static_cast<uint64_t>(i) * 2654435761 + seed * 2246822519 +
                                       374761393);
    h ^= h >> 15;
    h = (h & 0xffff) * 40503 + (h >> 16) * 30011;
    h ^= h >> 13;
    values[i] = std::ldexp(static_cast<float>(static_cast<int32_t>(h & 0xffff) - 32768),
                           -15 - static_cast<int>((h >> 16) & 7));
  }
  return at::tensor(values);
}

job::OptimizerSpec Spec() {
  job::OptimizerSpec spec;
  spec.name = job::OptimizerKind::kAdamW8bit;
  spec.betas = {0.9, 0.95};
  spec.weight_decay = 0.1;
  return spec;
}

// The elements [begin, end) of a flat buffer in which each piece starts at a multiple of 256: a
// shard of it.
struct Shard {
  Shard(at::ScalarType type, bool with_compute, int64_t begin = 0, int64_t end = 4352 + 4352 + 512)
      : begin_(begin), end_(end) {
    FlatBuffer buffer{at::zeros({end - begin}, type), {}};
    master = buffer.master;
    if (with_compute) compute = at::zeros({end - begin}, at::kBFloat16);
    ForEachPart([&](const Piece& piece, int64_t from, int64_t at, int64_t numel) {
      master.narrow(0, at, numel).copy_(Numbers(piece.numel, 0).narrow(0, from, numel));
      buffer.segments.push_back({at, numel, piece.numel});
    });
    optimizer = MakeOptimizer({.spec = Spec()}, {buffer});
  }

  // body(piece, first element of the piece, its place in the shard, elements)
  template <class Body>
  void ForEachPart(const Body& body) const {
    int64_t offset = 0;
    for (const Piece& piece : kPieces) {
      const int64_t first = std::max(offset, begin_), last = std::min(offset + piece.numel, end_);
      if (first < last) body(piece, first - offset, first - begin_, last - first);
      offset += (piece.numel + 255) / 256 * 256;
    }
  }

  void Step(int64_t step, at::ScalarType grad_type) {
    const at::Tensor grad = at::zeros({end_ - begin_}, grad_type);
    ForEachPart([&](const Piece& piece, int64_t from, int64_t at, int64_t numel) {
      grad.narrow(0, at, numel).copy_(Numbers(piece.numel, step).narrow(0, from, numel));
    });
    optimizer->Update(0, {master, grad, compute}, {.step = step, .lr = 1e-2, .grad_scale = {}});
  }

  at::Tensor State(const std::string& kind, int64_t at, int64_t numel) const {
    for (const StateTensor& state : optimizer->State(0)) {
      const at::Tensor values = state.kind == kind ? state.Of(at, numel) : at::Tensor();
      if (values.defined()) return values;
    }
    return {};
  }

  const int64_t begin_, end_;
  at::Tensor master, compute;
  std::unique_ptr<Optimizer> optimizer;
};

class AdamW8bitTest : public ::testing::Test {
 protected:
  AdamW8bitTest()
      : file_(files::SafetensorsFile::Open(
                  checkout::File("tests/baselines/adamw8bit/baseline.safetensors"))
                  .value()) {}

  at::Tensor Get(const std::string& name) const {
    const files::TensorInfo* info = file_.Find(name);
    if (info == nullptr) return {};
    const at::Tensor tensor =
        at::empty(info->shape, info->dtype == files::DType::kU8 ? at::kByte : at::kFloat);
    std::memcpy(tensor.data_ptr(), file_.Bytes(*info).data(), tensor.nbytes());
    return tensor;
  }

  void ExpectAtBaseline(const Shard& shard, const std::string& prefix, double tolerance) const {
    shard.ForEachPart([&](const Piece& piece, int64_t, int64_t at, int64_t numel) {
      for (const char* kind : kKinds) {
        const at::Tensor expected = Get(prefix + piece.name + "." + kind),
                         actual = shard.State(kind, at, numel);
        ASSERT_EQ(expected.defined(), actual.defined()) << prefix << piece.name << " " << kind;
        if (!expected.defined()) continue;
        ASSERT_EQ(actual.scalar_type(), expected.scalar_type());
        if (expected.scalar_type() == at::kByte) {
          EXPECT_EQ((actual != expected).sum().item<int64_t>(), 0)
              << prefix << piece.name << " " << kind;
        } else {
          // Moments are sums that cancel: their error is to the largest of the tensor.
          const double allowed = 1e-6 * expected.abs().max().item<double>();
          EXPECT_LE((actual - expected).abs().max().item<double>(), allowed)
              << prefix << piece.name << " " << kind;
        }
      }
      const at::Tensor expected = Get(prefix + piece.name + ".param");
      const at::Tensor error = (shard.master.narrow(0, at, numel).to(at::kFloat) - expected).abs();
      EXPECT_LE((error / (expected.abs() + 1e-2)).max().item<double>(), tolerance)
          << prefix << piece.name;
    });
  }

  const c10::NoGradGuard no_grad_;
  files::SafetensorsFile file_;
};

// A checkpoint has the elements of tensors, and nothing of what lies between them.
TEST_F(AdamW8bitTest, GoesOnFromItsStateAsIfItHadNotStopped) {
  Shard whole(at::kFloat, false), resumed(at::kFloat, false);
  for (int64_t step = 1; step <= 3; ++step) whole.Step(step, at::kFloat);
  whole.ForEachPart([&](const Piece&, int64_t, int64_t at, int64_t numel) {
    resumed.master.narrow(0, at, numel).copy_(whole.master.narrow(0, at, numel));
    for (const char* kind : kKinds) {
      const at::Tensor saved = whole.State(kind, at, numel);
      if (saved.defined()) resumed.State(kind, at, numel).copy_(saved);
    }
  });
  for (int64_t step = 4; step <= 12; ++step) {
    whole.Step(step, at::kFloat);
    resumed.Step(step, at::kFloat);
    whole.ForEachPart([&](const Piece& piece, int64_t, int64_t at, int64_t numel) {
      EXPECT_TRUE(at::equal(resumed.master.narrow(0, at, numel), whole.master.narrow(0, at, numel)))
          << piece.name << " after step " << step;
      for (const char* kind : kKinds) {
        const at::Tensor expected = whole.State(kind, at, numel);
        if (!expected.defined()) continue;
        EXPECT_TRUE(at::equal(resumed.State(kind, at, numel), expected))
            << kind << " of " << piece.name << " after step " << step;
      }
    });
  }
}

TEST_F(AdamW8bitTest, TheMapsAreBitsandbytes) {
  EXPECT_TRUE(at::equal(ops::DynamicMap(true), Get("map.signed")));
  EXPECT_TRUE(at::equal(ops::DynamicMap(false), Get("map.unsigned")));
}

TEST_F(AdamW8bitTest, AHundredStepsGiveBitsandbytesCodesInFp32) {
  Shard shard(at::kFloat, false);
  for (int64_t step = 1; step <= 100; ++step) {
    shard.Step(step, at::kFloat);
    if (step == 1 || step == 10 || step == 100)
      ExpectAtBaseline(shard, "fp32." + std::to_string(step) + ".", 5e-6);
  }
}

TEST_F(AdamW8bitTest, AHundredStepsGiveBitsandbytesCodesInBf16) {
  Shard shard(at::kBFloat16, false);
  for (int64_t step = 1; step <= 100; ++step) {
    shard.Step(step, at::kBFloat16);
    if (step == 1 || step == 10 || step == 100)
      ExpectAtBaseline(shard, "bf16." + std::to_string(step) + ".", 5e-6);
  }
}

TEST_F(AdamW8bitTest, AMasterHasACopyRoundedFromIt) {
  Shard shard(at::kFloat, true), plain(at::kFloat, false);
  shard.Step(1, at::kFloat);
  plain.Step(1, at::kFloat);
  EXPECT_TRUE(at::equal(shard.master, plain.master));
  EXPECT_TRUE(at::equal(shard.compute, shard.master.to(at::kBFloat16)));
}

TEST_F(AdamW8bitTest, ShardsOfABufferGiveWhatTheWholeGives) {
  Shard whole(at::kFloat, false);
  std::vector<Shard> shards;
  for (const auto& [begin, end] :
       {std::pair<int64_t, int64_t>{0, 3072}, {3072, 6144}, {6144, 9216}}) {
    shards.emplace_back(at::kFloat, false, begin, end);
  }
  for (int64_t step = 1; step <= 3; ++step) {
    whole.Step(step, at::kFloat);
    for (Shard& shard : shards) shard.Step(step, at::kFloat);
  }
  int compared = 0;
  for (const Shard& shard : shards) {
    shard.ForEachPart([&](const Piece&, int64_t, int64_t at, int64_t numel) {
      const int64_t begin = shard.begin_ + at;
      EXPECT_TRUE(
          at::equal(shard.master.narrow(0, at, numel), whole.master.narrow(0, begin, numel)));
      for (const char* kind : {"exp_avg", "exp_avg_sq", "exp_avg_absmax", "exp_avg_sq_absmax"}) {
        const at::Tensor part = shard.State(kind, at, numel), all = whole.State(kind, begin, numel);
        ASSERT_EQ(part.defined(), all.defined());
        EXPECT_TRUE(!part.defined() || at::equal(part, all)) << kind << " at " << begin;
        ++compared;
      }
    });
  }
  EXPECT_EQ(compared, 4 * 5);
}

TEST_F(AdamW8bitTest, StateTakesTwoBytesAndAThirtySecondAParameter) {
  const Shard shard(at::kBFloat16, false);
  EXPECT_EQ(shard.optimizer->StateBytes(), 2 * (4352 + 4352) * (256 + 4) / 256 + 2 * 4 * 512);
}

TEST_F(AdamW8bitTest, AGradientOfZeroLeavesMomentsOfZero) {
  const at::Tensor master = at::ones({8192});
  const auto optimizer = MakeOptimizer({.spec = Spec()}, {{master, {{0, 8192, 8192}}}});
  for (int64_t step = 1; step <= 3; ++step) {
    optimizer->Update(0, {master, at::zeros({8192}), {}},
                      {.step = step, .lr = 0.5, .grad_scale = {}});
  }
  EXPECT_TRUE(at::allclose(master, at::full({8192}, std::pow(0.95, 3))));  // weight decay alone
}

// The fused kernel's quick search, in its own words, finds what the bounds say.
TEST_F(AdamW8bitTest, TheTablesOfTheFusedKernelFindTheSameCodes) {
  const at::Tensor bytes = ops::DynamicTables(at::kCPU);
  const auto& tables = *static_cast<const ops::fused::DynamicTables*>(bytes.const_data_ptr());
  const at::Tensor magnitudes = at::cat(
      {at::pow(10.0, at::linspace(-9, 0, 200'000)), at::linspace(0, 1, 200'000), at::zeros({1})});
  for (const bool is_signed : {true, false}) {
    const at::Tensor map = ops::DynamicMap(is_signed), bounds = ops::DynamicBounds(map);
    const at::Tensor values = at::cat(
        {is_signed ? at::cat({magnitudes, -magnitudes}) : magnitudes, map.to(at::kFloat), bounds});
    const at::Tensor expected = at::bucketize(values, bounds);
    const ops::fused::DynamicTable& table = is_signed ? tables.of_signed : tables.of_unsigned;
    int64_t wrong = 0;
    for (int64_t i = 0; i < values.numel(); ++i) {
      const float x = values.const_data_ptr<float>()[i];
      uint32_t bits = 0;
      std::memcpy(&bits, &x, sizeof bits);
      const uint32_t magnitude = (bits & 0x7fffffff) >> 16;
      const uint32_t cell =
          std::min(std::max(magnitude, ops::fused::kFirstCell) - ops::fused::kFirstCell,
                   ops::fused::kCells - 1);
      const int first = table.first[bits >> 31][cell];
      wrong +=
          first + (table.bound[first] < x ? 1 : 0) != expected.const_data_ptr<int64_t>()[i] ? 1 : 0;
    }
    EXPECT_EQ(wrong, 0) << (is_signed ? "signed" : "unsigned");
  }
}

}  // namespace
}  // namespace trainctl::optim
