#include "common/base/check.h"
#include "worker/rank/optim/adamw.h"
#include "worker/rank/optim/adamw_8bit.h"
#include "worker/rank/optim/offloaded_adamw.h"
#include "worker/rank/optim/sgd.h"

namespace trainctl::optim {

at::Tensor StateTensor::Of(int64_t first, int64_t numel) const {
  const int64_t at = (first - begin) / elements_per_value,
                count = (numel + elements_per_value - 1) / elements_per_value;
  return first < begin || at + count > values.numel() ? at::Tensor() : values.narrow(0, at, count);
}

// One optimizer, one file, one case.
std::unique_ptr<Optimizer> MakeOptimizer(const OptimizerOptions& options,
                                         const std::vector<FlatBuffer>& buffers) {
  switch (options.spec.name) {
    case job::OptimizerKind::kAdamW:
      if (options.offload) return std::make_unique<OffloadedAdamW>(options, buffers);
      return std::make_unique<AdamW>(options, buffers);
    case job::OptimizerKind::kSgd: return std::make_unique<Sgd>(options, buffers);
    case job::OptimizerKind::kAdamW8bit: return std::make_unique<AdamW8bit>(options, buffers);
  }
  CHECK(false) << "optimizer " << static_cast<int>(options.spec.name) << " passed the check";
  return nullptr;
}

}  // namespace trainctl::optim
