// What a model makes of a batch with weights that are given, for tests that know what it should be.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <vector>

#include "worker/rank/files/safetensors.h"
#include "worker/rank/model/model.h"

namespace trainctl::engine_test {

// A tensor of int64, bf16 or fp32. One that is missing is a failure.
at::Tensor ReadTensor(const files::SafetensorsFile& file, const std::string& name);

// Relative to the expected tensor's largest magnitude.
void ExpectNear(const at::Tensor& actual, const at::Tensor& expected, double relative,
                const std::string& what);

struct ModelOutputs {
  at::Tensor logits;                        // [rows · length, V]
  double loss = 0;                          // the mean over the targets that count
  std::map<std::string, at::Tensor> grads;  // of what is trained, by the names of its files
};

// The batch needs neither loss_sum nor grad_scale. weights: of each parameter of the model, in its
// order; their type is that of the arithmetic.
ModelOutputs OutputsOf(const model::Model& model, const std::vector<at::Tensor>& weights,
                       model::MicroBatch batch);

// Those that count.
double CountTargets(const at::Tensor& targets);

// All lora.targets of the model but its head.
std::vector<std::string> TargetsOfBlocks(const job::ModelShape& shape);

}  // namespace trainctl::engine_test
