#include "common/base/check.h"
#include "worker/strategy/replicated.h"

namespace trainctl::strategy {

// One strategy, one file, one case.
std::unique_ptr<Strategy> MakeStrategy(const ops::ParameterTable& table, const StrategyOptions& options) {
  switch (options.job.strategy) {
    case job::StrategyKind::kSingle:
    case job::StrategyKind::kDdp:
      return std::make_unique<Replicated>(table, options);
    case job::StrategyKind::kAuto:  // resolved at submit
    case job::StrategyKind::kFsdp:  // refused at submit (common/job/not_yet.h)
      break;
  }
  CHECK(false) << "strategy " << static_cast<int>(options.job.strategy) << " passed the check";
  return nullptr;
}

}  // namespace trainctl::strategy
