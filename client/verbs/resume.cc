#include <optional>
#include <string>
#include <utility>

#include "client/naming.h"
#include "client/show/decoded.h"
#include "client/show/format.h"
#include "client/submit/resumed_run.h"
#include "client/submit/submission.h"
#include "client/verbs/verb.h"
#include "common/job/job_json.h"
#include "common/job/outcome.h"

namespace trainctl::client {
namespace {

base::Error NoCheckpoint(const v1::JobView& view, const job::JobSpec& job) {
  const std::string why = job.checkpoint.every_steps
                              ? "it is not known that one was whole; submit it again, "
                                "or after a restore of the site with "
                                "--checkpoint.resume_from DIR, where output.dir has one"
                              : "checkpoint.every_steps was null; submit it again with "
                                "--checkpoint.every_steps N and --output.dir DIR";
  return {base::Code::kInvalid,
          NameWithId(view.name(), view.id()) + " has no checkpoint to resume from: " + why};
}

// The job whose checkpoints those are. One that never began has left none, and its output.dir is
// still the earlier one's.
std::string WhoseCheckpoint(const v1::JobView& view, const job::JobSpec& job) {
  const std::optional<std::string>& earlier = job.checkpoint.resume_job;
  return view.started_at() == 0 && earlier ? *earlier : view.id();
}

class Resume : public Verb {
 public:
  void Declare(Arguments& arguments) override {
    arguments.Positional("JOB", &job_, "id or name of a job that has ended");
    DeclareSubmitOptions(arguments, &options_);
    arguments.Text("--name", "NAME", &name_, "of the new job; else the old one's");
    arguments.Overrides(&overrides_,
                        "override a setting; also --KEY VALUE, as in --train.max_steps 2000");
    arguments.Remark(
        "The new job goes on from the last checkpoint, with the old one's settings and output.dir. "
        "It may have other devices, another\n"
        "strategy or micro batch; the same ones under \"deterministic\": true give the losses of a "
        "run that was never interrupted.\n"
        "The new job takes over its output.dir. One that has made all its steps is trained on with "
        "more of them, and another output.dir\n"
        "for the new model. Restarts by resources.max_restarts resume by themselves.");
  }

  int Run(Context& context) override {
    job_ = NewestMeant(context, job_);
    const base::Result<v1::JobDetail> detail = GetOneJob(context, job_);
    if (!detail.ok()) return Fail(context, detail.error());
    const base::Result<JobFile> file = Continue(context, *detail);
    if (!file.ok()) return Fail(context, file.error());
    options_.source = job_;
    return SubmitJobs(context, *file, options_);
  }

 private:
  base::Result<JobFile> Continue(Context& context, const v1::JobDetail& detail) const {
    const v1::JobView& view = detail.view();
    if (!HasEnded(view)) {
      return base::Error{
          base::Code::kConflict,
          NameWithId(view.name(), view.id()) + " is " + view.state() +
              ": only a job that has ended is resumed; end it with: trainctl cancel " + view.id()};
    }
    const base::Result<job::JobSpec> job = job::FromJson(detail.job_json());
    if (!job.ok()) return job.error();
    const std::optional<std::string> folder = ResumeFolder(detail, *job);
    if (!folder) return NoCheckpoint(view, *job);
    JobFileOptions again{.path = view.id(), .name = name_, .overrides = overrides_};
    again.overrides.insert(again.overrides.begin(),
                           {{"checkpoint.resume_from", *folder},
                            {"checkpoint.resume_job", WhoseCheckpoint(view, *job)}});
    if (job->resources.lease && OutcomeOf(view) == job::Outcome::kLeaseEnded) {
      again.overrides.insert(again.overrides.begin(), {"resources.lease", "null"});
      if (options_.within.empty())
        context.err << "note: lease '" << *job->resources.lease
                    << "' is over: it goes on without one; --within names another" << std::endl;
    }
    return RefuseFinished(detail, ReadJobText(detail.job_json(), again));
  }

  // A dry run says it beside all else that it finds.
  base::Result<JobFile> RefuseFinished(const v1::JobDetail& detail,
                                       base::Result<JobFile> file) const {
    if (!file.ok() || options_.dry_run) return file;
    const base::Result<job::ResumedRun> earlier = ReadResumedRun(detail);
    if (!earlier.ok()) return earlier.error();
    const auto problem = job::CheckResumedRun(file->jobs.front(), std::nullopt, *earlier);
    if (problem) return base::Error{base::Code::kInvalid, job::Format({*problem}, job_)};
    return file;
  }

  std::string job_, name_;
  std::vector<job::Override> overrides_;
  SubmitOptions options_;
};

}  // namespace

std::unique_ptr<Verb> MakeResume() { return std::make_unique<Resume>(); }

}  // namespace trainctl::client
