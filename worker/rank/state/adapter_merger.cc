#include "worker/rank/state/adapter_merger.h"

#include <ATen/ops/matmul.h>

namespace trainctl::train {

AdapterMerger::AdapterMerger(const job::JobSpec& job, const ops::ParameterTable& table,
                             strategy::Strategy& strategy)
    : table_(table), strategy_(strategy) {
  if (job.lora) scale_ = job.lora->alpha / static_cast<double>(job.lora->r);
  for (size_t param = 0; param < table.params.size(); ++param) {
    if (!table.params[param].adapter) continue;
    for (const ops::ParamPiece& piece : table.params[param].pieces) {
      adapters_[piece.name] = {static_cast<ops::ParamId>(param), piece.row, piece.rows};
    }
  }
}

// A copy, since rows are valid until the next call only.
at::Tensor AdapterMerger::Wide(const std::string& name) const {
  const Place& place = adapters_.at(name);
  return strategy_.GetRows(place.param)
      .narrow(0, place.row, place.rows)
      .to(at::kFloat, /*non_blocking=*/false, /*copy=*/true);
}

std::vector<at::Tensor> AdapterMerger::Pieces(ops::ParamId param) const {
  const std::vector<ops::ParamPiece>& pieces = table_.params[param].pieces;
  std::vector<std::pair<at::Tensor, at::Tensor>> factors;  // A, B; undefined: not adapted
  for (const ops::ParamPiece& piece : pieces) {
    const std::string module = piece.name.substr(0, piece.name.rfind(".weight"));
    const bool is_adapted = adapters_.contains(module + ".lora_A.weight");
    if (!is_adapted) {
      factors.emplace_back();
      continue;
    }
    const at::Tensor a = Wide(module + ".lora_A.weight");
    factors.emplace_back(a, Wide(module + ".lora_B.weight"));
  }
  const at::Tensor rows = strategy_.GetRows(param);
  std::vector<at::Tensor> merged;
  for (size_t i = 0; i < pieces.size(); ++i) {
    merged.push_back(rows.narrow(0, pieces[i].row, pieces[i].rows));
    const auto& [a, b] = factors[i];
    if (a.defined())
      merged.back() = at::matmul(b, a).mul_(scale_).add_(merged.back().to(a.device()));
  }
  return merged;
}

}  // namespace trainctl::train
