#include "common/base/check.h"
#include "worker/optim/adamw.h"
#include "worker/optim/sgd.h"

namespace trainctl::optim {

// One optimizer, one file, one case.
std::unique_ptr<Optimizer> MakeOptimizer(const OptimizerOptions& options, const std::vector<FlatBuffer>& buffers) {
  switch (options.spec.name) {
    case job::OptimizerKind::kAdamW:
      return std::make_unique<AdamW>(options, buffers);
    case job::OptimizerKind::kSgd:
      return std::make_unique<Sgd>(options, buffers);
    case job::OptimizerKind::kAdamW8bit:
      break;  // refused at submit (common/job/not_yet.h)
  }
  CHECK(false) << "optimizer " << static_cast<int>(options.spec.name) << " passed the check";
  return nullptr;
}

}  // namespace trainctl::optim
