#include "common/estimate/lora_targets.h"

#include <algorithm>

namespace trainctl::job {

std::vector<LoraTarget> LoraTargets(const LoraSpec& lora, const ModelShape& m) {
  const int64_t q = m.heads * m.head_dim, kv = m.kv_heads * m.head_dim;
  const LoraTarget all[] = {{"q", m.hidden, q},
                            {"k", m.hidden, kv},
                            {"v", m.hidden, kv},
                            {"o", q, m.hidden},
                            {"gate", m.hidden, m.intermediate},
                            {"up", m.hidden, m.intermediate},
                            {"down", m.intermediate, m.hidden},
                            {"head", m.hidden, m.vocab}};
  std::vector<LoraTarget> targets;
  for (const LoraTarget& target : all) {
    const bool is_named =
        lora.targets.empty() ||
        std::find(lora.targets.begin(), lora.targets.end(), target.name) != lora.targets.end();
    if (is_named && !(target.name == "head" && m.tied_head)) targets.push_back(target);
  }
  return targets;
}

}  // namespace trainctl::job
