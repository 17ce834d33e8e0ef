// AdamW in host memory: against torch's own, and the pipeline's promises.
#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "worker/rank/optim/host_tensor.h"
#include "worker/rank/optim/offloaded_adamw.h"
#include "worker/rank/optim/optimizer.h"

namespace trainctl::optim {
namespace {

job::OptimizerSpec OffloadSpec() {
  job::OptimizerSpec spec;
  spec.betas = {0.9, 0.95};
  spec.weight_decay = 0.1;
  return spec;
}

// Units of these sizes; the first has several chunks of bf16, and more of fp32.
const std::vector<int64_t> kSizes = {4'500'032, 256, 40'192};

struct Units {
  explicit Units(at::ScalarType compute_type, int64_t threads = 2,
                 const std::vector<int64_t>& sizes = kSizes) {
    at::manual_seed(3);
    std::vector<FlatBuffer> buffers;
    for (const int64_t numel : sizes) {
      masters.push_back(HostTensor(numel, at::kCPU));
      masters.back().normal_();
      compute.push_back(masters.back().to(compute_type, /*non_blocking=*/false, /*copy=*/true));
      buffers.push_back({masters.back(), {{0, numel, numel}}});
    }
    optimizer = MakeOptimizer(
        {.spec = OffloadSpec(), .offload = true, .threads = threads, .device = at::kCPU}, buffers);
  }
  // The gradient of a unit at a step, with some sixteen orders of magnitude.
  static at::Tensor Grad(int64_t step, size_t unit, at::ScalarType type) {
    at::manual_seed(static_cast<uint64_t>(100 * step + static_cast<int64_t>(unit)));
    return (at::randn({kSizes[unit]}) * at::exp(3 * at::randn({kSizes[unit]}))).to(type);
  }
  void Step(int64_t step, at::ScalarType grad_type, const at::Tensor& grad_scale = {}) {
    for (size_t unit = 0; unit < masters.size(); ++unit) {
      optimizer->Update(
          unit, {masters[unit], Grad(step, unit, grad_type), compute[unit]},
          {.step = step, .lr = 1e-2 / static_cast<double>(step), .grad_scale = grad_scale});
    }
    optimizer->Finish();
  }

  std::vector<at::Tensor> masters, compute;
  std::unique_ptr<Optimizer> optimizer;
};

// torch.optim.AdamW in float64, as its documentation writes it.
void ReferenceStep(at::Tensor& parameter, at::Tensor& first, at::Tensor& second,
                   const at::Tensor& grad, int64_t step, double lr) {
  const job::OptimizerSpec spec = OffloadSpec();
  parameter = parameter * (1 - lr * spec.weight_decay);
  first = first * spec.betas[0] + grad * (1 - spec.betas[0]);
  second = second * spec.betas[1] + grad * grad * (1 - spec.betas[1]);
  const double first_correction = 1 - std::pow(spec.betas[0], static_cast<double>(step));
  const double second_correction = 1 - std::pow(spec.betas[1], static_cast<double>(step));
  parameter = parameter -
              lr * (first / first_correction) / ((second / second_correction).sqrt() + spec.eps);
}

// Relative to `scale`: what the values were summed from.
void ExpectNear(const at::Tensor& actual, const at::Tensor& expected, const at::Tensor& scale,
                double relative) {
  const at::Tensor error =
      (actual.to(at::kDouble) - expected.to(at::kDouble)).abs() / scale.to(at::kDouble);
  EXPECT_LE(error.max().item<double>(), relative);
}

class OffloadedAdamWTest : public ::testing::Test {
  const c10::NoGradGuard no_grad_;
};

TEST_F(OffloadedAdamWTest, AHundredStepsFollowTorchsOwnKernelAndTheDefinition) {
  const std::vector<int64_t> sizes = {40'192};
  const at::Tensor master = HostTensor(sizes[0], at::kCPU);
  master.normal_();
  const at::Tensor compute = master.clone();
  const auto optimizer = MakeOptimizer(
      {.spec = OffloadSpec(), .offload = true, .threads = 2, .device = at::kCPU}, {{master, {}}});
  const at::Tensor torch_parameter = master.clone(), torch_first = at::zeros_like(master),
                   torch_second = at::zeros_like(master);
  at::Tensor exact = master.to(at::kDouble), first = at::zeros_like(exact),
             second = at::zeros_like(exact);
  for (int64_t step = 1; step <= 100; ++step) {
    const double lr = 1e-2 / static_cast<double>(step);
    const at::Tensor grad = at::randn(sizes) * at::exp(3 * at::randn(sizes));
    const at::Tensor torch_step = at::full({}, static_cast<double>(step), at::kFloat);
    at::_fused_adamw_({torch_parameter}, {grad}, {torch_first}, {torch_second}, {}, {torch_step},
                      lr, 0.9, 0.95, 0.1, 1e-8, false, false);
    ReferenceStep(exact, first, second, grad.to(at::kDouble), step, lr);
    optimizer->Update(0, {master, grad, compute}, {.step = step, .lr = lr, .grad_scale = {}});
    optimizer->Finish();
  }
  ExpectNear(master, torch_parameter, torch_parameter.abs() + 0.1, 5e-6);
  ExpectNear(master, exact, exact.abs() + 0.1, 5e-6);
  ExpectNear(optimizer->State(0)[0].values, torch_first, torch_second.sqrt(), 2e-6);
  ExpectNear(optimizer->State(0)[1].values, torch_second, torch_second, 2e-6);
  EXPECT_TRUE(at::equal(compute, master));
  EXPECT_EQ(optimizer->StateBytes(), 0);
  EXPECT_EQ(optimizer->HostStateBytes(), 2 * 4 * sizes[0]);
}

TEST_F(OffloadedAdamWTest, Bf16GradientsAreWidenedAndTheCopyIsTheMasterRounded) {
  Units halves(at::kBFloat16), wide(at::kFloat);
  for (int64_t step = 1; step <= 2; ++step) {
    halves.Step(step, at::kBFloat16);
    for (size_t unit = 0; unit < kSizes.size(); ++unit) {
      wide.optimizer->Update(
          unit,
          {wide.masters[unit], Units::Grad(step, unit, at::kBFloat16).to(at::kFloat),
           wide.compute[unit]},
          {.step = step, .lr = 1e-2 / static_cast<double>(step), .grad_scale = {}});
    }
    wide.optimizer->Finish();
  }
  for (size_t unit = 0; unit < kSizes.size(); ++unit) {
    EXPECT_TRUE(at::equal(halves.masters[unit], wide.masters[unit]));
    EXPECT_TRUE(at::equal(halves.compute[unit], halves.masters[unit].to(at::kBFloat16)));
    EXPECT_TRUE(at::equal(wide.compute[unit], wide.masters[unit]));
  }
}

TEST_F(OffloadedAdamWTest, TheNumberOfThreadsDoesNotChangeABit) {
  Units one(at::kBFloat16, 1), three(at::kBFloat16, 3);
  one.Step(1, at::kBFloat16);
  three.Step(1, at::kBFloat16);
  for (size_t unit = 0; unit < kSizes.size(); ++unit)
    EXPECT_TRUE(at::equal(one.masters[unit], three.masters[unit]));
}

TEST_F(OffloadedAdamWTest, GradientsAreScaledByTheDevicesFactor) {
  Units scaled(at::kFloat), plain(at::kFloat);
  scaled.Step(1, at::kFloat, at::full({}, 0.25, at::kFloat));
  for (size_t unit = 0; unit < kSizes.size(); ++unit) {
    plain.optimizer->Update(
        unit, {plain.masters[unit], Units::Grad(1, unit, at::kFloat) * 0.25, plain.compute[unit]},
        {.step = 1, .lr = 1e-2, .grad_scale = {}});
  }
  plain.optimizer->Finish();
  for (size_t unit = 0; unit < kSizes.size(); ++unit)
    EXPECT_TRUE(at::equal(scaled.masters[unit], plain.masters[unit]));
}

// As CudaTransfer stages, but within the host's memory.
class CopyingTransfer : public ChunkTransfer {
 public:
  void MarkReady(HostUpdate&) override {}
  void Join() override { ++joins; }
  void Fetch(size_t slot, const Chunk& chunk) override {
    EXPECT_FALSE(used_[slot]) << "a slot is used again before it was returned";
    used_[slot] = true;
    grads_[slot] = chunk.update->grad.narrow(0, chunk.begin, chunk.count).clone();
    outs_[slot] = at::empty({chunk.count}, at::kBFloat16);
  }
  Fetched Await(size_t slot, const Chunk& chunk) override {
    if (chunk.begin >= fail_at) throw std::runtime_error("the device fell off the bus");
    return {{.count = chunk.count,
             .master = chunk.update->master.data_ptr<float>() + chunk.begin,
             .first = chunk.update->first.data_ptr<float>() + chunk.begin,
             .second = chunk.update->second.data_ptr<float>() + chunk.begin,
             .bf16_grad = true,
             .grad = grads_[slot].const_data_ptr(),
             .out_type = AdamOut::kBf16,
             .out = outs_[slot].data_ptr()},
            1};
  }
  void Return(size_t slot, const Chunk& chunk) override {
    used_[slot] = false;
    chunk.update->compute.narrow(0, chunk.begin, chunk.count).copy_(outs_[slot]);
  }
  bool copies() const override { return true; }

  int64_t fail_at = std::numeric_limits<int64_t>::max();
  int joins = 0;

 private:
  std::array<bool, kSlots> used_{};
  std::array<at::Tensor, kSlots> grads_, outs_;
};

std::shared_ptr<HostUpdate> MakeUpdate(int64_t numel) {
  auto update = std::make_shared<HostUpdate>();
  update->master = at::ones({numel});
  update->first = at::zeros({numel});
  update->second = at::zeros({numel});
  update->grad = at::randn({numel}).to(at::kBFloat16);
  update->compute = at::zeros({numel}, at::kBFloat16);
  update->rule.factors = {.beta1 = 0.9f,
                          .one_minus_beta1 = 0.1f,
                          .beta2 = 0.9f,
                          .one_minus_beta2 = 0.1f,
                          .step_size = 0.1f,
                          .eps = 1e-8f};
  return update;
}

TEST_F(OffloadedAdamWTest, StagedChunksGiveWhatTheWholeGives) {
  auto transfer = std::make_unique<CopyingTransfer>();
  const CopyingTransfer& seen = *transfer;
  UpdatePipeline pipeline(at::kCPU, 2, AdamPaths().front().kernel, std::move(transfer));
  std::vector<std::shared_ptr<HostUpdate>> updates;
  std::vector<at::Tensor> expected;
  for (const int64_t numel : {18'000'000, 77, 5'000'000}) {
    updates.push_back(MakeUpdate(numel));
    const HostUpdate& update = *updates.back();
    const at::Tensor master = update.master.clone(), first = update.first.clone(),
                     second = update.second.clone();
    AdamScalar(update.rule, {.count = numel,
                             .master = master.data_ptr<float>(),
                             .first = first.data_ptr<float>(),
                             .second = second.data_ptr<float>(),
                             .bf16_grad = true,
                             .grad = update.grad.const_data_ptr()});
    expected.push_back(master);
    pipeline.Enqueue(updates.back());
  }
  pipeline.Finish();
  EXPECT_EQ(seen.joins, 1);
  for (size_t i = 0; i < updates.size(); ++i) {
    EXPECT_TRUE(at::equal(updates[i]->master, expected[i])) << i;
    EXPECT_TRUE(at::equal(updates[i]->compute, expected[i].to(at::kBFloat16))) << i;
  }
}

TEST_F(OffloadedAdamWTest, AtMostTheLastGradientIsAliveWhenUpdateReturns) {
  UpdatePipeline pipeline(at::kCPU, 1, AdamPaths().front().kernel,
                          std::make_unique<CopyingTransfer>());
  std::vector<std::shared_ptr<HostUpdate>> updates;
  for (int i = 0; i < 4; ++i) {
    updates.push_back(MakeUpdate(6'000'000));
    pipeline.Enqueue(updates.back());
    for (size_t earlier = 0; earlier + 1 < updates.size(); ++earlier)
      EXPECT_FALSE(updates[earlier]->grad.defined());
  }
  pipeline.Finish();
  EXPECT_FALSE(updates.back()->grad.defined());
}

TEST_F(OffloadedAdamWTest, AnErrorInTheBackgroundIsThrownByTheNextCallAndStays) {
  auto transfer = std::make_unique<CopyingTransfer>();
  transfer->fail_at = 4 << 20;
  UpdatePipeline pipeline(at::kCPU, 1, AdamPaths().front().kernel, std::move(transfer));
  EXPECT_NO_THROW(pipeline.Enqueue(MakeUpdate(100)));
  EXPECT_THROW(
      {
        pipeline.Enqueue(MakeUpdate(9'000'000));
        pipeline.Finish();
      },
      std::runtime_error);
  EXPECT_THROW(pipeline.Enqueue(MakeUpdate(100)), std::runtime_error);
  EXPECT_THROW(pipeline.Finish(), std::runtime_error);
}

}  // namespace
}  // namespace trainctl::optim
