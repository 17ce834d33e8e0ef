#include <filesystem>
#include <set>
#include <utility>

#include "client/exit_code.h"
#include "client/files/lab_file_text.h"
#include "client/show/format.h"
#include "client/submit/recipe_folder.h"
#include "client/submit/submission.h"
#include "client/verbs/verb.h"
#include "common/base/file.h"
#include "common/job/batch.h"
#include "common/job/check_job.h"
#include "common/job/hub_id.h"
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

void AddRow(const Recipe& recipe, Listing* listing) {
  if (recipe.jobs.empty()) {
    listing->records.push_back(
        {{"id", recipe.id}, {"path", recipe.path}, {"problem", recipe.problem}});
    listing->table.AddRow(
        {recipe.id, "", "", "", "", "", {"refused: " + recipe.problem, Style::kWarning}});
    return;
  }
  const std::string model = Common(recipe.jobs, ModelOf), batch = Common(recipe.jobs, BatchOf);
  const std::string devices =
      Common(recipe.jobs, [](const job::JobSpec& job) { return std::to_string(job.devices); });
  const std::string precision =
      Common(recipe.jobs, [](const job::JobSpec& job) { return Setting(job, "precision"); });
  const bool is_lab = recipe.jobs.size() > 1;
  const std::string method = is_lab ? "lab of " + std::to_string(recipe.jobs.size()) + " runs"
                                    : MethodOf(recipe.jobs.front());
  listing->table.AddRow({recipe.id, model, method, batch, devices, precision});
  Json experiments = Json::array();
  for (const job::JobSpec& job : recipe.jobs) experiments.push_back(job.name);
  listing->records.push_back({{"id", recipe.id},
                              {"model", model},
                              {"method", method},
                              {"batch", batch},
                              {"devices", devices},
                              {"precision", precision},
                              {"path", recipe.path}});
  if (is_lab) listing->records.back()["experiments"] = experiments;
}

class Recipes : public Verb {
 public:
  void Declare(Arguments& arguments) override {
    arguments.Positionals("WORD", &words_,
                          "ls, show ID, path ID, copy ID [FILE or DIR] or submit ID; none: ls",
                          /*required=*/false);
    arguments.Text(
        "--dir", "DIR", &folder_,
        "where the job files are; else TRAINCTL_RECIPES, else those that came with this program");
    DeclareSubmitOptions(arguments, &options_);
    arguments.Overrides(&overrides_,
                        "with show, copy and submit: override a setting; also --KEY VALUE, as in "
                        "--model.init random");
    arguments.Remark(
        "batch is global/micro. show prints the resolved job or lab; copy writes it to a file to "
        "be changed.\n"
        "submit takes the options of trainctl submit.");
  }

  int Run(Context& context) override {
    const std::string action = words_.empty() ? "ls" : words_[0];
    const bool copies = action == "copy";
    const bool takes_id = copies || action == "show" || action == "path" || action == "submit";
    if (!takes_id && action != "ls") {
      return Fail(context,
                  {base::Code::kInvalid,
                   "recipes " + action +
                       ": expected ls, show, path, copy or submit; see: trainctl recipes --help"});
    }
    const size_t most = copies ? 3 : takes_id ? 2 : 1;
    if (words_.size() > most || (takes_id && words_.size() < 2)) {
      return Fail(context, {base::Code::kInvalid, "recipes " + action + ": expected " +
                                                      (copies     ? "an ID, and where to"
                                                       : takes_id ? "one ID"
                                                                  : "nothing behind it") +
                                                      "; see: trainctl recipes --help"});
    }
    const base::Result<std::string> folder = FindRecipeFolder(context.surroundings, folder_);
    if (!folder.ok()) return Fail(context, folder.error());
    const base::Result<std::vector<Recipe>> recipes = ReadRecipes(*folder);
    if (!recipes.ok()) return Fail(context, recipes.error());
    if (!takes_id) return List(context, *recipes);
    const base::Result<Recipe> recipe = FindRecipe(*recipes, words_[1]);
    if (!recipe.ok()) return Fail(context, recipe.error());
    return RunOne(context, action, *recipe);
  }

 private:
  static int List(Context& context, const std::vector<Recipe>& recipes) {
    Listing listing{.collection = "recipes",
                    .table = TextTable({{.header = "ID", .cut = true},
                                        {.header = "MODEL", .cut = true},
                                        {.header = "METHOD", .cut = true},
                                        {"BATCH", true},
                                        {"DEVICES", true},
                                        {"PRECISION"},
                                        {""}})};
    for (const Recipe& recipe : recipes) AddRow(recipe, &listing);
    return Print(context, listing);
  }

  int RunOne(Context& context, const std::string& action, const Recipe& recipe) {
    if (action == "path") {
      context.out << recipe.path << std::endl;
      return kExitOk;
    }
    const base::Result<JobFile> file = OpenJobFile(
        {.path = recipe.path, .experiment = recipe.experiment, .overrides = overrides_});
    if (!file.ok()) return Fail(context, file.error());
    if (action == "show") {
      context.out << TextOf(*file) << std::flush;
      return kExitOk;
    }
    if (action == "copy") return Copy(context, recipe, *file);
    options_.source = recipe.path;
    NoteMissingModels(context, *file);
    return SubmitJobs(context, *file, options_);
  }

  // The recipes come with rows and with models' shapes; SmolLM2-135M's weights are made by a script
  // of the checkout. Its place may still be there on the workers' hosts.
  static void NoteMissingModels(Context& context, const JobFile& file) {
    std::set<std::string> missing;
    std::error_code error;
    for (const job::JobSpec& job : file.jobs) {
      if (!job::IsHubId(job.model.path) && !std::filesystem::exists(job.model.path, error))
        missing.insert(job.model.path);
    }
    for (const std::string& path : missing) {
      const std::string tiny = (std::filesystem::path(path).parent_path() / "tiny").string();
      context.err << "note: the recipe's model is not on this machine: " << path
                  << "; where the workers lack it too, name another with --model.path DIR";
      if (std::filesystem::exists(tiny, error)) context.err << ", such as " << tiny;
      if (path.ends_with("/SmolLM2-135M"))
        context.err << "; deploy/example_model DIR, in a checkout of trainctl, makes SmolLM2-135M";
      context.err << std::endl;
    }
  }

  static std::string TextOf(const JobFile& file) {
    return file.is_lab
               ? LabFileText(file.jobs)
               : Json::parse(job::ToJson(job::ResolveJob(file.jobs.front()))).dump(2) + "\n";
  }

  // Its paths are absolute, so that it means the same wherever it lies. Nothing is replaced.
  int Copy(Context& context, const Recipe& recipe, const JobFile& file) const {
    namespace fs = std::filesystem;
    std::error_code error;
    fs::path target = words_.size() < 3 ? "." : words_[2];
    if (fs::is_directory(target, error)) target /= recipe.id + ".json";
    if (fs::exists(target, error)) {
      return Fail(context, {base::Code::kConflict, target.lexically_normal().string() +
                                                       " is there already: name another "
                                                       "file behind the recipe"});
    }
    const std::string path = target.lexically_normal().string();
    const fs::path folder = fs::absolute(target, error).parent_path();
    if (!fs::is_directory(folder, error)) {
      return Fail(context,
                  {base::Code::kNotFound, "cannot write " + path + ": there is no folder " +
                                              folder.lexically_normal().string()});
    }
    if (const base::Status written = base::WriteFileAtomically(path, TextOf(file)); !written.ok())
      return Fail(context, written.error());
    Say(context, "Wrote " + path + ". What it would do: trainctl submit " + path + " --dry-run\n");
    return kExitOk;
  }

  std::vector<std::string> words_;
  std::string folder_;
  SubmitOptions options_;
  std::vector<job::Override> overrides_;
};

}  // namespace

std::unique_ptr<Verb> MakeRecipes() { return std::make_unique<Recipes>(); }

}  // namespace trainctl::client
