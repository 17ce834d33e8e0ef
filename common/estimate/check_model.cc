#include "common/estimate/check_model.h"

#include <algorithm>

#include "common/estimate/frozen_parts.h"
#include "common/model/layout.h"
#include "common/model/model_description.h"

namespace trainctl::job {
namespace {

void CheckHead(const JobSpec& job, const ModelShape& model, std::vector<Problem>* problems) {
  if (!job.lora || !model.tied_head) return;
  const std::vector<std::string>& targets = job.lora->targets;
  if (std::find(targets.begin(), targets.end(), "head") == targets.end()) return;
  problems->push_back(
      {"lora.targets", 0, "head", "targets without \"head\"",
       "this model's head is its embedding (tie_word_embeddings), so an adapter of the one "
       "would change the other; leave targets empty "
       "for all that can be adapted"});
}

bool Has(const UnitLayers& unit, const std::string& target) {
  return std::any_of(unit.begin(), unit.end(), [&](const Layer& layer) {
    return std::any_of(layer.modules.begin(), layer.modules.end(),
                       [&](const Module& module) { return module.target == target; });
  });
}

bool HasInEncoder(const ModelDescription& model, const std::string& target) {
  return std::any_of(model.encoder.begin(), model.encoder.end(),
                     [&](const EncoderUnit& unit) { return Has(unit.layers, target); });
}

// Parts that the model does not have; all that it has.
void CheckFrozen(const JobSpec& job, const ModelDescription& model,
                 std::vector<Problem>* problems) {
  const std::vector<ModelPart> parts = PartsOf(model);
  std::string names;
  for (const ModelPart part : parts)
    names += (names.empty() ? "\"" : ", \"") + std::string(Name(part)) + '"';
  for (const std::string& frozen : job.freeze) {
    const bool is_there = std::any_of(parts.begin(), parts.end(),
                                      [&](ModelPart part) { return Name(part) == frozen; });
    if (is_there) continue;
    problems->push_back({"freeze", 0, frozen, "parts that the model has: " + names,
                         "only a model of pictures and words has others"});
  }
  if (!Trains(job)) return;
  const bool is_all =
      std::all_of(parts.begin(), parts.end(), [&](ModelPart part) { return IsFrozen(job, part); });
  if (!is_all || job.lora) return;
  problems->push_back({"freeze", 0, "", "a part that is trained: one of " + names,
                       "all parts of the model are frozen, and nothing would be trained"});
}

// A head that is tied is another problem.
void CheckTargets(const JobSpec& job, const ModelDescription& model,
                  std::vector<Problem>* problems) {
  if (!job.lora) return;
  for (const std::string& target : job.lora->targets) {
    if (target == "head" || Has(model.block, target) || HasInEncoder(model, target)) continue;
    problems->push_back({"lora.targets", 0, target, "targets that the model has",
                         "the blocks of this model have no such layer; leave targets empty for "
                         "all that can be adapted"});
  }
}

void CheckLength(const JobSpec& job, int64_t most, const std::string& why,
                 std::vector<Problem>* problems) {
  if (job.train.max_seq_length <= most) return;
  problems->push_back({"train.max_seq_length", 0, std::to_string(job.train.max_seq_length),
                       "at most " + std::to_string(most), why});
}

// A model of pictures continues the captions of validation rows.
void CheckPrompts(const JobSpec& job, const ModelShape& model, std::vector<Problem>* problems) {
  if (!Trains(job)) {
    const bool has_images = !job.eval.images.empty();
    if (model.image && !job.eval.prompts.empty() && !has_images) {
      problems->push_back({"eval.images", 0, "", "a picture for each of eval.prompts",
                           "the model captions pictures: trainctl generate JOB --image FILE"});
    }
    if (!model.image && has_images) {
      problems->push_back({"eval.images", 0, "", "none with a model of type '" + model.family + "'",
                           "it takes no pictures"});
    }
    return;
  }
  if (job.eval.prompts.empty() || !model.image || Validates(job.data)) return;
  problems->push_back({"eval.prompts", 0, "", "none without validation rows",
                       "a model of pictures captions those of validation rows: set "
                       "data.val_split_fraction"});
}

void CheckPacking(const JobSpec& job, const ModelShape& model, std::vector<Problem>* problems) {
  if (!job.train.packing || !model.image) return;
  problems->push_back({"train.packing", 0, "true", "false with a model of pictures",
                       "each row has a picture of its own"});
}

void CheckQuantized(const UnitLayers& unit, const std::string& prefix,
                    std::vector<Problem>* problems) {
  for (const Layer& layer : unit) {
    for (const Module& module : layer.modules) {
      const int64_t elements = module.rows * layer.columns;
      if (!layer.is_matrix || elements % kNf4Block == 0) continue;
      problems->push_back({"quantize", 0, prefix + module.WeightName(),
                           "matrices of a multiple of " + std::to_string(kNf4Block) + " elements",
                           "this one has " + std::to_string(elements) + "; leave quantize null"});
    }
  }
}

// Of the first block of a kind: all are alike.
void CheckQuantized(const JobSpec& job, const ModelDescription& model,
                    std::vector<Problem>* problems) {
  if (!job.quantize) return;
  const size_t before = problems->size();
  for (const EncoderUnit& unit : model.encoder) {
    if (unit.is_block && problems->size() == before)
      CheckQuantized(unit.layers, unit.prefix, problems);
  }
  CheckQuantized(model.block, model.BlockPrefix(0), problems);
}

}  // namespace

std::vector<Problem> CheckModel(const JobSpec& job, const ModelShape& model) {
  std::vector<Problem> problems;
  CheckPrompts(job, model, &problems);
  CheckPacking(job, model, &problems);
  const ModelDescription described = Describe(model);
  CheckHead(job, model, &problems);
  CheckTargets(job, described, &problems);
  CheckFrozen(job, described, &problems);
  CheckQuantized(job, described, &problems);
  if (described.learns_positions) {
    CheckLength(job, model.max_positions,
                "config.json's max_position_embeddings: the model has learned no more positions",
                &problems);
  }
  return problems;
}

}  // namespace trainctl::job
