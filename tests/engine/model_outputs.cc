#include "tests/engine/model_outputs.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <set>

#include "common/model/model_description.h"
#include "tests/engine/held_parameters.h"
#include "worker/rank/state/tensor_piece.h"

namespace trainctl::engine_test {

at::Tensor ReadTensor(const files::SafetensorsFile& file, const std::string& name) {
  const files::TensorInfo* info = file.Find(name);
  if (info == nullptr) {
    ADD_FAILURE() << name;
    return at::zeros({1});
  }
  const at::ScalarType type = info->dtype == files::DType::kI64    ? at::kLong
                              : info->dtype == files::DType::kBF16 ? at::kBFloat16
                                                                   : at::kFloat;
  return at::from_blob(const_cast<std::byte*>(file.Bytes(*info).data()), info->shape, type).clone();
}

void ExpectNear(const at::Tensor& actual, const at::Tensor& expected, double relative,
                const std::string& what) {
  ASSERT_EQ(actual.sizes(), expected.sizes()) << what;
  EXPECT_LE((actual - expected).abs().max().item<double>(),
            relative * expected.abs().max().item<double>())
      << what;
}

double CountTargets(const at::Tensor& targets) {
  return static_cast<double>((targets >= 0).sum().item<int64_t>());
}

std::vector<std::string> TargetsOfBlocks(const job::ModelShape& shape) {
  std::set<std::string> targets;
  const auto add = [&](const job::UnitLayers& unit) {
    for (const job::Layer& layer : unit) {
      for (const job::Module& module : layer.modules) {
        if (!module.target.empty()) targets.emplace(module.target);
      }
    }
  };
  const job::ModelDescription model = job::Describe(shape);
  add(model.block);
  for (const job::EncoderUnit& unit : model.encoder) add(unit.layers);
  return {targets.begin(), targets.end()};
}

ModelOutputs OutputsOf(const model::Model& model, const std::vector<at::Tensor>& weights,
                       model::MicroBatch batch) {
  const std::vector<ops::ParamSpec>& params = model.parameters().params;
  std::set<ops::ParamId> frozen;
  for (size_t param = 0; param < params.size(); ++param) {
    if (!params[param].trainable) frozen.insert(static_cast<ops::ParamId>(param));
  }
  HeldParameters parameters(weights, frozen);
  const double tokens = CountTargets(batch.targets);
  batch.loss_sum = at::zeros({}, at::kDouble);
  batch.grad_scale = 1 / tokens;
  ModelOutputs outputs;

  ops::Tape silent(false);
  ops::Context forward_only{silent, parameters, ops::AtenKernels(), model.norm_eps(), false};
  outputs.logits = model.Logits(forward_only, batch, at::arange(batch.rows * batch.length));

  ops::Tape tape(true);
  ops::Context context{tape, parameters, ops::AtenKernels(), model.norm_eps(), false};
  model.Loss(context, batch);
  tape.Backward();
  EXPECT_TRUE(parameters.AllUnitsClosed());
  outputs.loss = batch.loss_sum.item<double>() / tokens;
  for (size_t param = 0; param < params.size(); ++param) {
    if (!params[param].trainable) continue;
    const at::Tensor& grad = parameters.grad(static_cast<ops::ParamId>(param));
    for (const ops::ParamPiece& piece : params[param].pieces)
      outputs.grads[piece.name] =
          grad.narrow(0, piece.row, piece.rows).view(train::FileShape(params[param], piece));
  }
  return outputs;
}

}  // namespace trainctl::engine_test
