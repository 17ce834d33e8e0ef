#include "common/base/check.h"
#include "worker/optim/adamw.h"
#include "worker/optim/sgd.h"

namespace trainctl::optim {

// One optimizer, one file, one case.
std::unique_ptr<Optimizer> MakeOptimizer(const job::OptimizerSpec& spec, job::EngineKind engine, const std::vector<at::Tensor>& buffers) {
  switch (spec.name) {
    case job::OptimizerKind::kAdamW:
      return std::make_unique<AdamW>(spec, engine, buffers);
    case job::OptimizerKind::kSgd:
      return std::make_unique<Sgd>(spec, engine, buffers);
    case job::OptimizerKind::kAdamW8bit:
      break;  // refused at submit (common/job/not_yet.h)
  }
  CHECK(false) << "optimizer " << static_cast<int>(spec.name) << " passed the check";
  return nullptr;
}

}  // namespace trainctl::optim
