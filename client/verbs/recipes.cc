#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "client/exit_code.h"
#include "client/files/lab_file_text.h"
#include "client/new_file.h"
#include "client/shipped_files.h"
#include "client/show/format.h"
#include "client/submit/lab_time.h"
#include "client/submit/recipe_folder.h"
#include "client/submit/recipe_listing.h"
#include "client/submit/sweep_run.h"
#include "client/submit/within.h"
#include "client/verbs/verb.h"
#include "common/job/check_job.h"
#include "common/job/hub_id.h"
#include "common/job/job_json.h"

namespace trainctl::client {
namespace {

// Until its end, what is said on stderr waits: notes stand below the table that they are about.
class HeldNotes {
 public:
  explicit HeldNotes(Context& context) : err_(context.err), target_(err_.rdbuf(&held_)) {}
  ~HeldNotes() {
    err_.rdbuf(target_);
    err_ << held_.str() << std::flush;
  }
  HeldNotes(const HeldNotes&) = delete;
  HeldNotes& operator=(const HeldNotes&) = delete;

 private:
  std::ostream& err_;
  std::stringbuf held_;
  std::streambuf* const target_;
};

class Recipes : public Verb {
 public:
  void Declare(Arguments& arguments) override {
    arguments.Positionals("WORD", &words_,
                          "ls [ID], show ID, path ID, copy ID [FILE or DIR] or submit ID; none: ls",
                          /*required=*/false);
    arguments.Text(
        "--dir", "DIR", &folder_,
        "where the job files are; else TRAINCTL_RECIPES, else those that came with this program");
    arguments.OnlyWith({"", "ls"}, [&] {
      arguments.Text("--user", "NAME", &user_, "with ls: whose runs of them are shown; else yours");
    });
    arguments.OnlyWith({"submit"}, [&] { DeclareFileSubmission(arguments, &submission_); });
    arguments.AlsoWith("--within", "ls");
    arguments.OnlyWith({"show", "copy", "submit"}, [&] {
      arguments.Overrides(&submission_.file.overrides,
                          "with show, copy and submit: override a setting; also --KEY VALUE, as in "
                          "--model.init random");
    });
    arguments.Remark(
        "batch is global/micro. ls shows what you have run of them; ls ID, of a lab, also what "
        "remains, with predicted times,\n"
        "and whether that fits your lease, or --within.\n"
        "show prints the resolved job or lab; copy writes it to a file to "
        "be changed.\n"
        "submit takes the options of trainctl submit; --matrix is for one experiment.");
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
    const size_t most = copies ? 3 : 2;
    if (words_.size() > most || (takes_id && words_.size() < 2)) {
      return Fail(context, {base::Code::kInvalid, "recipes " + action + ": expected " +
                                                      (copies     ? "an ID, and where to"
                                                       : takes_id ? "one ID"
                                                                  : "at most one ID") +
                                                      "; see: trainctl recipes --help"});
    }
    const base::Result<std::string> folder = FindRecipeFolder(context.surroundings, folder_);
    if (!folder.ok()) return Fail(context, folder.error());
    const base::Result<std::vector<Recipe>> recipes = ReadRecipes(*folder);
    if (!recipes.ok()) return Fail(context, recipes.error());
    if (action == "show" && !context.for_people() && context.format != OutputFormat::kJson)
      return Fail(context, {base::Code::kInvalid,
                            "recipes show: a job file is JSON: expected -o json, or no -o"});
    if (words_.size() < 2) return ListAll(context, *recipes);
    const base::Result<Recipe> recipe = FindRecipe(*recipes, words_[1]);
    if (!recipe.ok()) return Fail(context, recipe.error());
    return takes_id ? RunOne(context, action, *recipe) : ListOne(context, *recipe);
  }

 private:
  // The runs of --user, or of who calls; none where no coordinator answers.
  LabRunsByName OwnRuns(Context& context, const std::vector<Recipe>& recipes) const {
    const std::string user = user_.empty() ? context.surroundings.user : user_;
    LabRunsByName own;
    if (context.api == nullptr || user.empty()) return own;
    std::vector<job::JobSpec> experiments;
    for (const Recipe& recipe : recipes) {
      for (const job::JobSpec& job : recipe.jobs) {
        if (own.try_emplace(job.name).second) experiments.push_back(job);
      }
    }
    base::Result<std::vector<LabRun>> runs = FindLabRuns(*context.api, experiments, {user});
    if (!runs.ok()) {
      if (!user_.empty())
        Warn(context, "runs of " + user + " are not known: " + runs.error().message);
      return {};
    }
    for (LabRun& run : *runs) own[run.experiment] = std::move(run);
    return own;
  }

  int ListAll(Context& context, const std::vector<Recipe>& recipes) const {
    const HeldNotes held(context);
    return Print(context, ListRecipes(recipes, OwnRuns(context, recipes)));
  }

  // "2h predicted for 3 experiments on 4 devices; fits 2h 59min, which the lease lab2 has left".
  static std::string RemainingText(const std::vector<Assessment>& assessed,
                                   const std::optional<Stretch>& stretch) {
    const LabTime lab = PredictLab(assessed);
    if (!stretch) return LabText(lab, std::nullopt);
    const std::string lease =
        stretch->lease && lab.experiments > 0
            ? ", which the lease " + stretch->lease->name() + " has left for jobs"
            : "";
    return LabText(lab, stretch->seconds, lease);
  }

  // Its experiments, with predicted times of what remains.
  int ListOne(Context& context, const Recipe& recipe) const {
    const HeldNotes held(context);
    const LabRunsByName own = OwnRuns(context, {recipe});
    std::map<std::string, double> times;
    std::set<std::string> refused;
    JobFile remaining{.jobs = recipe.jobs, .is_lab = true};
    std::erase_if(remaining.jobs, [&own](const job::JobSpec& job) {
      const auto run = own.find(job.name);
      return run != own.end() && IsDone(run->second);
    });
    std::string all;
    if (context.api != nullptr && !remaining.jobs.empty()) {
      const std::string user = user_.empty() ? context.surroundings.user : user_;
      const auto stretch = FindStretch(context, submission_.options.within, user);
      if (!stretch.ok()) return Fail(context, stretch.error());
      const auto lease = *stretch ? (*stretch)->lease : std::nullopt;
      const auto assessed = AssessAll(context, remaining, AskSite(context), /*force=*/false, lease);
      if (!assessed.ok()) return Fail(context, assessed.error());
      for (const Assessment& assessment : *assessed) {
        if (!assessment.site_problems.empty()) refused.insert(assessment.job.name);
        if (assessment.time) times[assessment.job.name] = assessment.time->total_seconds;
      }
      all = RemainingText(*assessed, *stretch);
    }
    const int code = Print(context, ListExperiments(recipe, own, times, refused));
    if (const std::string& its_own = recipe.jobs.front().notes; !its_own.empty())
      Say(context, "\n" + WrapLines(its_own, context.surroundings.out_terminal.layout.width));
    Say(context, "\n" + ProgressText(ProgressOf(recipe.jobs, own)) +
                     (all.empty() ? "" : "; what remains: " + all) + "\n");
    return code;
  }

  int RunOne(Context& context, const std::string& action, const Recipe& recipe) {
    if (action == "path") {
      return Tell(context, recipe.path + "\n",
                  OneRecord("recipes", "path", {{"id", recipe.id}, {"path", recipe.path}}));
    }
    submission_.file.path = submission_.options.source = recipe.path;
    submission_.file.experiment = recipe.experiment;
    const base::Result<std::string> text =
        ReadJobSource(*context.surroundings.in, &submission_.file);
    if (!text.ok()) return Fail(context, text.error());
    const base::Result<JobFile> file = ReadJobText(*text, submission_.file);
    if (!file.ok()) return Fail(context, file.error());
    if (action == "show") {
      context.out << TextOf(*file) << std::flush;
      return kExitOk;
    }
    if (action == "copy") return Copy(context, recipe, *file);
    NoteMissingModels(context, *file);
    return SubmitFile(context, *text, submission_);
  }

  // The recipes come with rows and with models' shapes; SmolLM2-135M's weights are made by a script
  // that comes with them. Its place may still be there on the workers' hosts.
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
      const base::Result<std::string> script = FindShipped(context.surroundings, "example_model");
      if (path.ends_with("/SmolLM2-135M") && script.ok())
        context.err << "; " << *script << " DIR makes SmolLM2-135M";
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
    const std::string path = target.lexically_normal().string();
    const base::Status written = WriteNewFile(path, TextOf(file), /*overwrite=*/false);
    if (!written.ok() && written.error().code == base::Code::kConflict) {
      return Fail(context, {base::Code::kConflict,
                            path + " is there already: name another file behind the recipe"});
    }
    if (!written.ok()) return Fail(context, written.error());
    return Tell(context,
                "Wrote " + path + ". What it would do: trainctl submit " + path + " --dry-run\n",
                OneRecord("copied", "path", {{"id", recipe.id}, {"path", path}}));
  }

  std::vector<std::string> words_;
  std::string folder_, user_;
  FileSubmission submission_;
};

}  // namespace

std::unique_ptr<Verb> MakeRecipes() { return std::make_unique<Recipes>(); }

}  // namespace trainctl::client
