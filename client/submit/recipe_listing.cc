#include "client/submit/recipe_listing.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "client/show/format.h"
#include "client/show/job_listing.h"
#include "common/base/size.h"
#include "common/job/batch.h"
#include "common/job/check_job.h"
#include "common/job/job_json.h"

namespace trainctl::client {
namespace {

// A setting as the job file has it.
std::string Setting(const job::JobSpec& job, std::string_view key) {
  for (const auto& [name, value] : job::Flatten(job)) {
    if (name == key) return value;
  }
  return "";
}

// "LoRA r 32, ddp, sgd, expects OOM".
std::string MethodOf(const job::JobSpec& job) {
  std::vector<std::string> words = {"full"};
  if (job.lora)
    words = {(job.quantize ? "QLoRA " + Setting(job, "quantize") + " r " : "LoRA r ") +
             std::to_string(job.lora->r)};
  const std::string strategy = Setting(job::ResolveJob(job), "strategy");
  if (strategy != "single") words.push_back(strategy);
  if (strategy == "fsdp" && job.sharding == job::Sharding::kGradOp) words.push_back("grad_op");
  if (job.offload_optimizer) words.push_back("offload");
  if (job.activation_checkpointing != 0) words.push_back("checkpointing");
  if (job.optimizer.name != job::OptimizerKind::kAdamW)
    words.push_back(Setting(job, "optimizer.name"));
  if (job.expect == job::Expect::kOom) words.push_back("expects OOM");
  return Join(words, ", ");
}

std::string BatchOf(const job::JobSpec& job) {
  const base::Result<job::BatchPlan> plan = job::PlanBatch(job);
  const std::string global = job.train.global_batch_size
                                 ? std::to_string(*job.train.global_batch_size)
                             : plan.ok() ? std::to_string(plan->global)
                                         : "?";
  return global + "/" +
         (job.train.micro_batch_size ? std::to_string(*job.train.micro_batch_size) : "auto");
}

std::string ModelOf(const job::JobSpec& job) {
  return job.model.path.substr(job.model.path.rfind('/') + 1);
}

// What all jobs have in common; else "…".
template <class Of>
std::string Common(const std::vector<job::JobSpec>& jobs, Of of) {
  for (const job::JobSpec& job : jobs) {
    if (of(job) != of(jobs.front())) return "…";
  }
  return of(jobs.front());
}

const LabRun* RunOf(const LabRunsByName& own, const std::string& experiment) {
  const auto run = own.find(experiment);
  return run == own.end() || !run->second.job ? nullptr : &run->second;
}

// "SUCCEEDED (j12)"; of a lab "2 of 4 done".
TextCell OwnCell(const Recipe& recipe, const LabRunsByName& own) {
  if (recipe.jobs.size() > 1) {
    const LabProgress progress = ProgressOf(recipe.jobs, own);
    return progress.done + progress.done_otherwise == 0 ? TextCell()
                                                        : TextCell(ProgressText(progress));
  }
  const LabRun* run = RunOf(own, recipe.jobs.front().name);
  if (run == nullptr) return {};
  const v1::JobView& job = *run->job;
  const std::string changed = run->changed.empty() ? "" : ", with other settings";
  return {(job.outcome().empty() ? job.state() : job.outcome()) + " (" + job.id() + changed + ")",
          OutcomeStyle(job)};
}

void AddOwn(const LabRun* run, Json* record) {
  (*record)["done"] = run != nullptr && IsDone(*run);
  (*record)["job"] = run == nullptr ? Json() : Json(run->job->id());
  (*record)["changed"] = run == nullptr ? Json::array() : Json(run->changed);
}

void AddProblem(const Recipe& recipe, Listing* listing) {
  listing->records.push_back(
      {{"id", recipe.id}, {"path", recipe.path}, {"problem", recipe.problem}});
  listing->table.AddRow(
      {recipe.id, "", "", "", "", "", {"refused: " + recipe.problem, Style::kWarning}});
}

// The cells and the record that every listing has of it.
std::vector<TextCell> AddRecipe(const Recipe& recipe, Listing* listing) {
  const std::string model = Common(recipe.jobs, ModelOf), batch = Common(recipe.jobs, BatchOf);
  const std::string devices =
      Common(recipe.jobs, [](const job::JobSpec& job) { return std::to_string(job.devices); });
  const std::string precision =
      Common(recipe.jobs, [](const job::JobSpec& job) { return Setting(job, "precision"); });
  const bool is_lab = recipe.jobs.size() > 1;
  const std::string method = is_lab ? "lab of " + std::to_string(recipe.jobs.size()) + " runs"
                                    : MethodOf(recipe.jobs.front());
  listing->records.push_back({{"id", recipe.id},
                              {"model", model},
                              {"method", method},
                              {"batch", batch},
                              {"devices", devices},
                              {"precision", precision},
                              {"path", recipe.path}});
  if (is_lab) {
    Json experiments = Json::array();
    for (const job::JobSpec& job : recipe.jobs) experiments.push_back(job.name);
    listing->records.back()["experiments"] = experiments;
  }
  return {recipe.id, model, method, batch, devices, precision};
}

std::vector<TextColumn> ColumnsWith(const std::vector<TextColumn>& more) {
  std::vector<TextColumn> columns = {{"ID"},
                                     {.header = "MODEL", .cut = true},
                                     {.header = "METHOD", .cut = true},
                                     {"BATCH", true},
                                     {.header = "DEVICES", .right = true, .goes = 1},
                                     {.header = "PRECISION", .goes = 2}};
  columns.insert(columns.end(), more.begin(), more.end());
  return columns;
}

}  // namespace

LabProgress ProgressOf(const std::vector<job::JobSpec>& jobs, const LabRunsByName& own) {
  LabProgress progress;
  for (const job::JobSpec& job : jobs) {
    const auto run = own.find(job.name);
    progress.Add(run == own.end() ? LabRun() : run->second);
  }
  return progress;
}

Listing ListRecipes(const std::vector<Recipe>& recipes, const LabRunsByName& own) {
  const bool has_own =
      std::ranges::any_of(own, [](const auto& run) { return run.second.job.has_value(); });
  Listing listing{.collection = "recipes",
                  .table = TextTable(ColumnsWith({{has_own ? "YOURS" : ""}}))};
  for (const Recipe& recipe : recipes) {
    if (recipe.jobs.empty()) {
      AddProblem(recipe, &listing);
      continue;
    }
    std::vector<TextCell> cells = AddRecipe(recipe, &listing);
    if (has_own) cells.push_back(OwnCell(recipe, own));
    if (has_own && recipe.jobs.size() == 1)
      AddOwn(RunOf(own, recipe.jobs.front().name), &listing.records.back());
    listing.table.AddRow(std::move(cells));
  }
  return listing;
}

Listing ListExperiments(const Recipe& recipe, const LabRunsByName& own,
                        const std::map<std::string, double>& times,
                        const std::set<std::string>& refused) {
  Listing listing{.collection = "recipes",
                  .table = TextTable(ColumnsWith({{"PREDICTED", true}, {"YOURS"}}))};
  for (const job::JobSpec& job : recipe.jobs) {
    const Recipe experiment{
        .id = job.name, .path = recipe.path, .experiment = job.name, .jobs = {job}};
    std::vector<TextCell> cells = AddRecipe(experiment, &listing);
    const auto time = times.find(job.name);
    const bool known = time != times.end();
    const bool is_refused = refused.contains(job.name);
    cells.push_back(is_refused ? TextCell("refused here", Style::kWarning)
                    : known    ? TextCell(base::FormatDuration(std::llround(time->second)))
                               : TextCell());
    cells.push_back(OwnCell(experiment, own));
    AddOwn(RunOf(own, job.name), &listing.records.back());
    listing.records.back()["predicted_seconds"] = known ? Json(time->second) : Json();
    listing.records.back()["refused_here"] = is_refused;
    listing.table.AddRow(std::move(cells));
  }
  return listing;
}

}  // namespace trainctl::client
