#include "client/submit/prediction.h"

#include <algorithm>
#include <iterator>

#include "client/show/first_row.h"
#include "client/show/format.h"
#include "common/base/size.h"
#include "common/estimate/fit.h"
#include "common/estimate/prediction.h"
#include "common/job/job_json.h"
#include "common/job/trains.h"
#include "common/rank/memory_kind.h"

namespace trainctl::client {
namespace {

using job::MemoryByKind;

int64_t LargestLimit(const Assessment& assessment) {
  int64_t largest = 0;
  for (const SiteWorker& worker : assessment.candidates)
    largest = std::max(largest, job::MemoryLimit(assessment.job, worker.device));
  return largest;
}

Json Parsed(const std::string& text) { return Json::parse(text); }

}  // namespace

std::string BatchText(const job::BatchPlan& batch) {
  return "global " + WithThousands(batch.global) + " = micro " + WithThousands(batch.micro) +
         " × " + Plural(batch.devices, "device") + " × accumulation " +
         WithThousands(batch.accumulation);
}

std::string StepsText(const Assessment& assessment) {
  const job::TrainSpec& train = assessment.job.train;
  if (!job::Trains(assessment.job)) {
    return "none: " + Plural(std::ssize(assessment.job.eval.prompts), "prompt") + " of up to " +
           Plural(assessment.job.eval.max_new_tokens, "new token");
  }
  if (!assessment.steps) {
    return (train.max_steps ? "at most " + Plural(*train.max_steps, "optimizer step") + ", " : "") +
           "not known before the data are inspected";
  }
  std::string text =
      Plural(*assessment.steps, "optimizer step") + ": " + Plural(train.epochs, "epoch") + " of " +
      Plural(assessment.split->train_rows, "row") +
      (train.packing && assessment.sequences
           ? " in " + Plural(*assessment.sequences, job::SequenceWord(assessment.job))
           : "") +
      ", " + WithThousands(assessment.batch.global) + " a step";
  if (train.max_steps == assessment.steps) text += ", ended by max_steps";
  if (const int64_t done = assessment.inspection->resume_step; done > 0) {
    text += "; " + WithThousands(done) + " are done, " +
            WithThousands(std::max<int64_t>(0, *assessment.steps - done)) + " remain";
  }
  if (assessment.split->val_rows > 0)
    text += "; " + Plural(assessment.split->val_rows, "row") + " for validation";
  return text;
}

std::string MemoryText(const Assessment& assessment) {
  if (!assessment.prediction) return "not predicted before the model is inspected";
  std::string text =
      base::FormatBytes(assessment.prediction->peak_allocated) + " predicted peak a device";
  const int64_t limit = LargestLimit(assessment);
  if (limit > 0) text += ", of " + base::FormatBytes(limit);
  const std::string gradients = GradientsText(*assessment.prediction);
  return gradients.empty() ? text : text + "; gradients " + gradients;
}

std::string GradientsText(const job::MemoryEstimate& estimate) {
  if (!estimate.holds_gradients) return "";
  if (!*estimate.holds_gradients) return "reduced in each micro step";
  const std::string added =
      estimate.holding_bytes > 0 ? " (+" + base::FormatBytes(estimate.holding_bytes) + ")" : "";
  return "reduced once a step, held whole" + added;
}

std::string FactText(const std::string& label, const std::string& text, const TableLayout& layout) {
  constexpr int kLabelWidth = 8;
  return LabelledLine(label, kLabelWidth, text, layout.width);
}

std::string FactsText(const Assessment& assessment, const TableLayout& layout) {
  const job::OutputSpec& output = assessment.job.output;
  const bool kept = output.dir && output.save != job::Save::kNone;
  const std::optional<job::Inspection>& inspection = assessment.inspection;
  std::string text;
  const auto add = [&](const char* label, const std::string& fact) {
    text += FactText(label, fact, layout);
  };
  add("batch", BatchText(assessment.batch));
  if (inspection && inspection->sampled_rows > 0) {
    add("data", "about " + WithThousands(inspection->rows) + " rows, reckoned from a sample of " +
                    WithThousands(inspection->sampled_rows) +
                    "; memory is for rows of train.max_seq_length");
  }
  if (inspection && inspection->full_rows > 0) {
    add("data", WithThousands(inspection->full_rows) + " of " + WithThousands(inspection->rows) +
                    " rows fill train.max_seq_length " +
                    std::to_string(assessment.job.train.max_seq_length) +
                    ": what is longer is cut there");
  }
  if (inspection && inspection->untrained_rows > 0) {
    add("data", WithThousands(inspection->untrained_rows) + " of " +
                    WithThousands(inspection->rows) +
                    " rows have no token that counts in the loss");
  }
  if (inspection && inspection->broken_pictures > 0) {
    add("data", WithThousands(inspection->broken_pictures) + " of " +
                    WithThousands(inspection->decoded_pictures) +
                    " pictures that were looked at are broken: such rows are left out");
  }
  if (inspection && !inspection->waited_for.empty()) {
    add("data",
        "the look at it waited for " + inspection->waited_for + ", which makes the same tokens");
  }
  if (assessment.micro_batch_choice) {
    add("micro", "auto: " + *assessment.micro_batch_choice +
                     "; a trial proves it before the run, or halves it");
  }
  add("steps", StepsText(assessment));
  add("memory", MemoryText(assessment));
  if (assessment.time) add("time", job::TimeText(*assessment.time));
  if (inspection && !inspection->model_revision.empty())
    add("model", assessment.job.model.path + " at revision " + inspection->model_revision);
  if (kept) add("output", "the model is kept in " + *output.dir);
  return text;
}

std::string MemoryTableText(const job::MemoryEstimate& estimate, const TableLayout& layout) {
  std::vector<TextColumn> columns = {{"MEMORY A DEVICE, PREDICTED"}};
  for (size_t phase = 0; phase < estimate.phases.size(); ++phase) {
    columns.push_back({.header = std::string(job::Name(static_cast<job::Phase>(phase))),
                       .right = true,
                       .goes = phase == 0 ? 1 : 0});
  }
  TextTable table(std::move(columns));
  for (const job::MemoryKind& kind : job::kMemoryKinds) {
    if (kind.metric == job::Metric::kMemoryReserved) continue;  // the allocator's, not predicted
    std::vector<TextCell> cells = {std::string(kind.label)};
    for (const MemoryByKind& memory : estimate.phases)
      cells.emplace_back(base::FormatBytes(memory.*kind.bytes));
    table.AddRow(std::move(cells));
  }
  return table.Render(layout);
}

Json AssessmentJson(const Assessment& assessment) {
  Json places = Json::array(), refused = Json::array();
  for (const SiteWorker& worker : assessment.candidates) places.push_back(worker.name);
  for (const job::Problem& problem : assessment.site_problems)
    refused.push_back(job::Format({problem}, assessment.job.name));
  const job::BatchPlan& batch = assessment.batch;
  return {
      {"name", assessment.job.name},
      {"job", Parsed(job::ToJson(assessment.job))},
      {"batch",
       {{"global", batch.global},
        {"micro", batch.micro},
        {"devices", batch.devices},
        {"accumulation", batch.accumulation}}},
      {"steps", assessment.steps ? Json(*assessment.steps) : Json(nullptr)},
      {"first_step", assessment.inspection ? assessment.inspection->resume_step : 0},
      {"sampled_rows", assessment.inspection ? assessment.inspection->sampled_rows : 0},
      {"full_rows", assessment.inspection ? assessment.inspection->full_rows : 0},
      {"untrained_rows", assessment.inspection ? assessment.inspection->untrained_rows : 0},
      {"decoded_pictures", assessment.inspection ? assessment.inspection->decoded_pictures : 0},
      {"broken_pictures", assessment.inspection ? assessment.inspection->broken_pictures : 0},
      {"waited_for", assessment.inspection ? assessment.inspection->waited_for : ""},
      {"first_row", assessment.inspection ? FirstRowJson(*assessment.inspection) : Json(nullptr)},
      {"micro_batch_choice",
       assessment.micro_batch_choice ? Json(*assessment.micro_batch_choice) : Json(nullptr)},
      {"time", assessment.time ? Parsed(job::ToJson(*assessment.time)) : Json(nullptr)},
      {"memory",
       assessment.prediction ? Parsed(job::ToJson(*assessment.prediction)) : Json(nullptr)},
      {"would_run_on", places},
      {"not_on", assessment.barred.empty() ? Json(nullptr) : Json(assessment.barred)},
      {"refused", refused},
      {"notes", assessment.notes}};
}

}  // namespace trainctl::client
