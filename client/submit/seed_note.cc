#include "client/submit/seed_note.h"

#include <algorithm>
#include <string_view>

#include "common/job/trains.h"

namespace trainctl::client {
namespace {

bool DropsOut(const job::ModelShape& model) {
  return model.dropout > 0 || (model.image && (model.image->qformer_dropout > 0 ||
                                               model.image->qformer_attention_dropout > 0));
}

// "seed": random weights, dropout, and tokens of texts that are drawn.
bool MayDrawBySeed(const Assessment& assessment) {
  const job::JobSpec& job = assessment.job;
  const bool draws_tokens = !job.eval.prompts.empty() && job.eval.temperature > 0;
  if (draws_tokens || !job::Trains(job)) return draws_tokens;
  const bool draws_weights = job.model.init == job::ModelInit::kRandom || job.lora;
  return draws_weights || !assessment.inspection || DropsOut(assessment.inspection->model);
}

bool Varies(const std::vector<Variant>& variants, std::string_view key) {
  return !variants.empty() && std::ranges::any_of(variants.front(), [&](const auto& setting) {
    return setting.key == key;
  });
}

}  // namespace

std::string SeedNote(const std::vector<Assessment>& assessments,
                     const std::vector<Variant>& variants) {
  const auto trains = [](const Assessment& one) { return job::Trains(one.job); };
  const bool trains_none = std::ranges::none_of(assessments, trains);
  if (Varies(variants, "data.seed") && trains_none)
    return "data.seed changes nothing: these jobs read no data. Jobs that differ in it alone are "
           "equal";
  if (!Varies(variants, "seed") || std::ranges::any_of(assessments, MayDrawBySeed)) return "";
  return trains_none ? "seed changes nothing: with eval.temperature 0 no token is drawn. Jobs that "
                       "differ in it alone are equal"
                     : "seed changes nothing: no weight is random, and nothing is dropped out. "
                       "Jobs that differ in it alone are equal; data.seed shuffles the rows";
}

}  // namespace trainctl::client
