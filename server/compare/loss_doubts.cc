#include <cmath>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/plural.h"
#include "common/job/batch.h"
#include "common/job/job_json.h"
#include "common/rank/reduction.h"
#include "server/compare/doubts.h"
#include "server/compare/sections.h"

namespace trainctl::compare {
namespace {

constexpr std::string_view kColumns = "data.columns";

// Of the columns all: "text caption", or "none".
std::string ValueOf(const Run& run, std::string_view key) {
  const std::string prefix = std::string(kColumns) + ".";
  std::string columns;
  for (const auto& [name, text] : job::Flatten(run.job)) {
    if (name == key) return text;
    if (key == kColumns && name.starts_with(prefix))
      columns += (columns.empty() ? "" : " ") + name.substr(prefix.size()) + " " + text;
  }
  return key == kColumns && columns.empty() ? "none" : columns;
}

// What besides the file decides which tokens are trained on, and in which order.
struct DataSetting {
  std::string_view key;
  const char* consequence;
};

constexpr DataSetting kDataSettings[] = {
    {"data.format", "the rows are read in another way"},
    {kColumns, "other columns of the rows are read"},
    {"data.template", "the conversations are written in another way"},
    {"data.max_rows", "one has rows that another never sees"},
    {"data.val_split_fraction", "other rows are trained on and validated with"},
    {"data.mask_prompt", "other tokens count in the loss"},
    {"train.group_by_length", "the rows come in another order"},
    {"train.packing", "a step has other rows, and another number of them"},
    {"data.seed", "the rows are split and shuffled in another way"},
};

// Of runs that validate: on which rows.
constexpr std::string_view kEvalRows = "eval.max_rows";

std::string LossSection() { return std::string(job::Name(job::MetricSection::kLoss)); }

// "…: losses are not comparable"
void RefuseLosses(std::string why, Kinds kinds, Comparability* found) {
  Warn({.text = std::move(why) + "losses are not comparable", .sections = {LossSection()}},
       std::move(kinds), found);
}

std::string DataDigest(const Run& run) { return run.inspection ? run.inspection->data_digest : ""; }

void WarnOfData(const std::vector<Run>& runs, Comparability* found) {
  if (Kinds digests = KindsOf(runs, DataDigest); !Differing(digests).empty())
    RefuseLosses("the data differ (other bytes in the file): ", std::move(digests), found);
  for (const DataSetting& setting : kDataSettings) {
    Kinds kinds = KindsOf(runs, [&](const Run& run) { return ValueOf(run, setting.key); });
    const std::string values = Differing(kinds);
    if (values.empty()) continue;
    RefuseLosses(
        std::string(setting.key) + " differs (" + values + "): " + setting.consequence + "; ",
        std::move(kinds), found);
  }
}

// Rows whose pictures can't be read. One file may have more of them on another day or host.
void WarnOfSkippedRows(const std::vector<Run>& runs, Comparability* found) {
  std::string text;
  Kinds kinds;
  for (const Run& run : runs) {
    kinds.emplace_back();
    if (!HasMeasurements(run)) continue;
    const auto skipped = job::Reduce(job::Metric::kSkippedRows, run.metrics);
    kinds.back() = std::to_string(skipped ? std::llround(skipped->value) : 0);
    text += (text.empty() ? "" : ", ") + run.id + " " + *kinds.back();
  }
  if (Differing(kinds).empty()) return;
  RefuseLosses("other numbers of rows are left out, whose pictures can't be read (" + text + "): ",
               std::move(kinds), found);
}

// Two revisions of one model of the hub. That models differ is a setting.
void WarnOfRevisions(const std::vector<Run>& runs, Comparability* found) {
  std::set<std::string> models;
  for (const Run& run : runs) models.insert(run.job.model.path);
  for (const std::string& model : models) {
    Kinds kinds = KindsOf(runs, [&](const Run& run) {
      return run.inspection && run.job.model.path == model ? run.inspection->model_revision : "";
    });
    const std::string revisions = Differing(kinds);
    if (revisions.empty()) continue;
    RefuseLosses("the revision of " + model + " differs (" + revisions +
                     "): the runs began with other weights; ",
                 std::move(kinds), found);
  }
}

std::string Vocabulary(const Run& run) {
  const int64_t words = run.inspection ? run.inspection->model.vocab : 0;
  return words > 0 ? std::to_string(words) : "";
}

// Of a run whose tokens it makes: those of "bin" are there already.
std::string TokenizerDigest(const Run& run) {
  const bool is_used = run.inspection && run.job.data.format != job::DataFormat::kBin;
  return is_used ? run.inspection->tokenizer_digest : "";
}

// A loss is of one token. Of more of them it is harder to tell, and of longer ones there are fewer.
void WarnOfVocabulary(const std::vector<Run>& runs, Comparability* found) {
  Kinds vocabularies = KindsOf(runs, Vocabulary), tokenizers = KindsOf(runs, TokenizerDigest);
  const std::string sizes = Differing(vocabularies), digests = Differing(tokenizers);
  if (!sizes.empty()) {
    RefuseLosses("the vocabulary differs (" + sizes + " tokens): the loss is of other tokens; ",
                 std::move(vocabularies), found);
    found->doubts.push_back({.rows = {LossSection()}, .kinds = std::move(tokenizers)});
  } else if (!digests.empty()) {
    const std::string models = Differing(runs, [](const Run& run) { return run.job.model.path; });
    RefuseLosses("the tokenizer differs (" + (models.empty() ? digests : "of " + models) +
                     "): the same text is other tokens; ",
                 std::move(tokenizers), found);
  }
}

void WarnOfValidation(const std::vector<Run>& runs, Comparability* found) {
  Kinds kinds = KindsOf(runs, [](const Run& run) {
    return job::Validates(run.job.data) ? ValueOf(run, kEvalRows) : std::string();
  });
  const std::string values = Differing(kinds);
  if (values.empty()) return;
  found->doubts.push_back(
      {.rows = {std::string(job::Name(job::Metric::kValLoss))}, .kinds = std::move(kinds)});
  found->warnings.push_back(
      {.text = std::string(kEvalRows) + " differs (" + values +
               "): validated with other rows; validation losses are not comparable",
       .sections = {LossSection()}});
}

// Empty: the run began at step 0.
std::string StepsBefore(const Run& run) {
  const job::CheckpointSpec& checkpoint = run.job.checkpoint;
  if (!checkpoint.resume_from && !checkpoint.resume_job) return "";
  const int64_t steps = run.inspection ? run.inspection->resume_step : 0;
  return NameAndId(run) + " goes on from a checkpoint" +
         (checkpoint.resume_job ? " of " + *checkpoint.resume_job : "") + ", and its model had " +
         (steps > 0 ? base::Plural(steps, "step") : "steps") + " before";
}

// Losses of a model that was trained before are lower for that alone. Runs from one checkpoint are
// equal in that.
void WarnOfStepsBefore(const std::vector<Run>& runs, Comparability* found) {
  std::string text;
  Kinds origins;
  for (const Run& run : runs) {
    const std::string steps = StepsBefore(run);
    origins.emplace_back("");
    if (steps.empty()) continue;
    const int64_t number = run.inspection ? run.inspection->resume_step : 0;
    origins.back() = run.job.checkpoint.resume_from.value_or("") + " " +
                     run.job.checkpoint.resume_job.value_or("") + " " + std::to_string(number);
    text += (text.empty() ? "" : "; ") + steps;
  }
  if (!Differing(origins).empty()) RefuseLosses(text + ": ", std::move(origins), found);
}

std::string LrScaling(const Run& run) {
  return run.job.optimizer.lr_scaling == job::LrScaling::kLinear ? "linear" : "none";
}

std::string GlobalBatch(const Run& run) {
  const base::Result<job::BatchPlan> batch = job::PlanBatch(run.job);
  return batch.ok() ? std::to_string(batch->global) : "";
}

void WarnOfBatch(const std::vector<Run>& runs, Comparability* found) {
  Kinds rules = KindsOf(runs, LrScaling);
  if (const std::string values = Differing(rules); !values.empty()) {
    RefuseLosses("the learning-rate rule differs (lr_scaling " + values + "): ", std::move(rules),
                 found);
    return;
  }
  Kinds batches = KindsOf(runs, GlobalBatch);
  const std::string values = Differing(batches);
  if (values.empty() || LrScaling(runs.front()) == "linear") return;
  RefuseLosses("the global batch differs (" + values +
                   ") without a learning-rate rule: fewer, larger steps at the same lr, unless "
                   "optimizer.lr_scaling is \"linear\"; ",
               std::move(batches), found);
}

}  // namespace

void DoubtLosses(const std::vector<Run>& runs, Comparability* found) {
  WarnOfStepsBefore(runs, found);
  WarnOfRevisions(runs, found);
  WarnOfVocabulary(runs, found);
  WarnOfData(runs, found);
  WarnOfSkippedRows(runs, found);
  WarnOfValidation(runs, found);
  WarnOfBatch(runs, found);
}

}  // namespace trainctl::compare
