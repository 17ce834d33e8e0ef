#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/zeros.h>

#include <cmath>

#include "tests/gpu/kernel_checks.h"
#include "tests/gpu/kernel_device.h"

namespace trainctl::gpu {
namespace {

namespace fused = ops::fused;

struct Case {
  int64_t rows, vocab, hidden;
};

at::Tensor RunEmbeddingBackward(const at::Tensor& grad, const at::Tensor& ids,
                                const at::Tensor& before, float beta) {
  const at::Tensor out = before.clone();
  const at::Tensor workspace =
      at::empty({static_cast<int64_t>(fused::EmbeddingWorkspaceBytes(ids.numel()))}, On(at::kByte));
  C10_CUDA_CHECK(fused::EmbeddingBackward({.element = TypeOf(grad),
                                           .rows = grad.size(0),
                                           .hidden = grad.size(1),
                                           .vocab = before.size(0),
                                           .grad = grad.data_ptr(),
                                           .ids = ids.data_ptr<int64_t>(),
                                           .weight_grad = out.data_ptr(),
                                           .weight_grad_type = TypeOf(before),
                                           .beta = beta,
                                           .workspace = workspace.data_ptr()},
                                          Stream()));
  return out;
}

// ids from −1 to vocab: the two outside must be skipped; a third of the rows is one token.
void CheckEmbedding(Checks& checks, const Case& c, at::ScalarType type, at::ScalarType grad_type,
                    float beta) {
  const auto& [rows, vocab, hidden] = c;
  const std::string name = "EmbeddingBackward " + NameOf(type) + " into " + NameOf(grad_type) +
                           Text({rows, vocab, hidden, static_cast<int64_t>(beta)});
  const at::Tensor grad = Random({rows, hidden}, type),
                   ids = at::randint(-1, vocab + 1, {rows}, On(at::kLong));
  ids.narrow(0, rows / 3, rows / 3).fill_(vocab / 2);
  const at::Tensor before = beta == 0 ? at::full({vocab, hidden}, std::nan(""), On(grad_type))
                                      : Random({vocab, hidden}, grad_type);
  const at::Tensor out = RunEmbeddingBackward(grad, ids, before, beta);
  const at::Tensor want = at::zeros({vocab + 2, hidden}, On(at::kDouble));
  want.index_add_(0, ids + 1, grad.to(at::kDouble));
  const at::Tensor inside = want.narrow(0, 1, vocab);
  checks.Near(name, out, beta == 0 ? inside : inside + before.to(at::kDouble));
  checks.Equal(name + " twice", RunEmbeddingBackward(grad, ids, before, beta), out);
}

}  // namespace

void CheckEmbeddings(Checks& checks) {
  for (const Case& c : {Case{1, 3, 8},
                        {7, 5, 37},
                        {33, 300, 64},
                        {500, 1000, 100},
                        {2048, 300, 576},
                        {2050, 32001, 1024}}) {
    CheckEmbedding(checks, c, at::kBFloat16, at::kBFloat16, 0);
    CheckEmbedding(checks, c, at::kBFloat16, at::kFloat, 1);
    CheckEmbedding(checks, c, at::kFloat, at::kFloat, 0);
  }
}

}  // namespace trainctl::gpu
