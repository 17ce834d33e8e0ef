#include "common/estimate/check_model.h"

#include <algorithm>

namespace trainctl::job {

std::vector<Problem> CheckModel(const JobSpec& job, const ModelShape& model) {
  if (!job.lora || !model.tied_head) return {};
  const std::vector<std::string>& targets = job.lora->targets;
  if (std::find(targets.begin(), targets.end(), "head") == targets.end()) return {};
  return {{"lora.targets", 0, "head", "targets without \"head\"",
           "this model's head is its embedding (tie_word_embeddings), so an adapter of the one "
           "would change the other; leave targets empty "
           "for all that can be adapted"}};
}

}  // namespace trainctl::job
