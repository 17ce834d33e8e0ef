#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/files/artifact_source.h"
#include "client/naming.h"
#include "client/show/format.h"
#include "client/submit/generation.h"
#include "client/submit/inspection.h"
#include "client/submit/patience.h"
#include "client/submit/submission.h"
#include "client/verbs/verb.h"
#include "common/job/job_json.h"
#include "common/job/trains.h"

namespace trainctl::client {
namespace {

class Generate : public Verb {
 public:
  void Declare(Arguments& arguments) override {
    arguments.Positional("JOB", &job_, "id or name of a job that has ended and saved its model");
    arguments.Texts("--prompt", "TEXT", &prompts_,
                    "what the model answers, if its data were chats: the template writes it as a "
                    "user's turn; else what it goes on from, as it is; several: each behind its "
                    "own --prompt");
    arguments.Switch("--raw", &raw_, "go on from the prompts as they are, after chats too");
    arguments.Texts("--image", "FILE", &images_,
                    "of a model of pictures: a picture on the model's host that it captions; "
                    "several: each behind its own --image, with a --prompt each or none");
    arguments.Text("--max-new-tokens", "N", &max_new_tokens_,
                   "the most tokens of a text; else 64. A stop token ends it before");
    arguments.Text("--temperature", "T", &temperature_,
                   "0: the likeliest token each time; else tokens are drawn, by --seed");
    arguments.Text("--name", "NAME", &name_, "of the new job; else generate-JOB");
    arguments.Duration("--timeout", &options_.timeout_seconds,
                       "stop following after this time (exit status 124); the job goes on");
    arguments.Text("--within", "LEASE", &options_.within, "run under this lease");
    arguments.Switch("--dry-run", &options_.dry_run,
                     "submit nothing: show where it would run and what memory it needs");
    arguments.Overrides(&overrides_,
                        "override a setting of the new job; also --KEY VALUE, as in --seed 7");
    arguments.Remark(
        "A small job of its own makes the texts, on one device of a host that sees the model's "
        "folder. It waits in the queue as any job,\n"
        "is listed by status, and trainctl describe shows its texts again. It trains nothing and "
        "reads no data. Of LoRA the saved adapter is\n"
        "added to its base model. Exit status: as of wait.");
  }

  int Run(Context& context) override {
    if (const base::Status paired = PairPrompts(); !paired.ok())
      return Fail(context, paired.error());
    job_ = NewestMeant(context, job_);
    const base::Result<v1::JobDetail> detail = GetOneJob(context, job_);
    if (!detail.ok()) return Fail(context, detail.error());
    const base::Result<JobFile> file = MakeJob(context, *detail);
    if (!file.ok()) return Fail(context, file.error());
    options_.source = job_;
    options_.follow = [this](Context& own, const v1::SubmitResponse& submitted) {
      own.err << "Submitted " << submitted.jobs(0).name() << " as " << submitted.jobs(0).id() << "."
              << std::endl;
      return FollowTexts(own, submitted.jobs(0).id(), options_.timeout_seconds);
    };
    return SubmitJobs(context, *file, options_);
  }

 private:
  // Each picture has a prompt, if an empty one.
  base::Status PairPrompts() {
    for (std::string& image : images_) {
      if (image.empty())
        return base::Error{base::Code::kInvalid, "--image '': expected the path of a picture"};
      std::error_code error;
      image = std::filesystem::absolute(image, error).lexically_normal().string();
      if (error) return base::Error{base::Code::kIo, "--image: " + error.message()};
    }
    if (prompts_.empty()) prompts_.resize(images_.size());
    if (prompts_.empty())
      return base::Error{base::Code::kInvalid, "give --prompt TEXT, or --image FILE"};
    if (images_.empty() || prompts_.size() == images_.size()) return base::Ok{};
    if (prompts_.size() == 1) {
      prompts_.resize(images_.size(), prompts_[0]);
      return base::Ok{};
    }
    return base::Error{base::Code::kInvalid, "--prompt stands " + std::to_string(prompts_.size()) +
                                                 " times, expected once, or once for each --image"};
  }

  base::Result<JobFile> MakeJob(Context& context, const v1::JobDetail& detail) const {
    const base::Result<v1::Artifact> model = SavedModel(detail);
    if (!model.ok()) return model.error();
    if (base::Status there = CheckThere(context, detail.view(), *model); !there.ok())
      return there.error();
    const base::Result<v1::WorkersResponse> site = context.api->Workers();
    const SiteBounds bounds = (site.ok() ? BoundsOf(*site) : std::nullopt).value_or(SiteBounds());
    const base::Result<job::JobSpec> job =
        GenerationOf(detail, *model, prompts_, images_, bounds.policy);
    if (!job.ok()) return job.error();
    JobFileOptions of{.path = detail.view().id(), .name = name_, .overrides = overrides_};
    if (raw_) of.overrides.push_back({"eval.raw_prompts", "true"});
    if (!max_new_tokens_.empty()) of.overrides.push_back({"eval.max_new_tokens", max_new_tokens_});
    if (!temperature_.empty()) of.overrides.push_back({"eval.temperature", temperature_});
    base::Result<JobFile> file = ReadJobText(job::ToJson(*job), of);
    if (file.ok() && (file->jobs.size() != 1 || job::Trains(file->jobs[0]) ||
                      file->jobs[0].model.path != job->model.path)) {
      return base::Error{base::Code::kInvalid,
                         "generate is one job that trains nothing, with the model of " +
                             detail.view().id() + ": submit a job file for something else"};
    }
    return file;
  }

  // The worker of its host says whether it still is what was saved. The site refuses who may not
  // read it.
  base::Status CheckThere(Context& context, const v1::JobView& view,
                          const v1::Artifact& model) const {
    const base::Result<Api*> api = NeedApi(context);
    if (!api.ok()) return api.error();
    const base::Result<std::vector<job::ArtifactFile>> files =
        RemoteArtifact(**api, view.id(), model.path(), [&context] {
          context.surroundings.sleep(Patience::kRetrySeconds);
        })->List();
    if (!files.ok() && files.error().code == base::Code::kNotFound) {
      return base::Error{base::Code::kNotFound,
                         "what " + NameWithId(view.name(), view.id()) +
                             " saved is gone, so train it again: " + files.error().message};
    }
    if (!files.ok()) return files.error();
    if (model.bytes() == 0 || BytesOf(*files) == model.bytes()) return base::Ok{};
    return base::Error{base::Code::kConflict,
                       model.path() + " on " + model.host() + " is not what " +
                           NameWithId(view.name(), view.id()) + " saved there: it had " +
                           WithThousands(model.bytes()) + " bytes, now " +
                           WithThousands(BytesOf(*files))};
  }

  std::string job_, name_, max_new_tokens_, temperature_;
  std::vector<std::string> prompts_, images_;
  bool raw_ = false;
  std::vector<job::Override> overrides_;
  SubmitOptions options_;
};

}  // namespace

std::unique_ptr<Verb> MakeGenerate() { return std::make_unique<Generate>(); }

}  // namespace trainctl::client
