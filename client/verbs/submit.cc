#include "client/submit/submission.h"
#include "client/submit/sweep_points.h"
#include "client/submit/sweep_run.h"
#include "client/verbs/verb.h"

namespace trainctl::client {
namespace {

class Submit : public Verb {
 public:
  void Declare(Arguments& arguments) override {
    arguments.Positional(
        "FILE", &file_.path,
        "a job file, or a lab file {\"base\": …, \"experiments\": […]}; - reads standard "
        "input");
    DeclareSubmitOptions(arguments, &options_);
    arguments.Text(
        "--name", "NAME", &file_.name,
        "of the job, or of a lab file's group; with --matrix what the jobs' names begin with; "
        "else the file's");
    arguments.Text("--after", "JOB[:any]", &after_,
                   "start once this job has succeeded, or with :any has ended; several: j12,j13");
    DeclareMatrix(arguments, &matrix_);
    arguments.Overrides(&file_.overrides,
                        "override a setting; also --KEY VALUE, as in --train.micro_batch_size 8");
    arguments.Remark(
        "Relative paths in the file are relative to the file, those typed here to the current "
        "folder; the workers must see them too.\n"
        "Ctrl-C during --wait detaches and never ends a job.\n"
        "A job that is to start --after another's success is cancelled when that one ends "
        "otherwise.");
  }

  int Run(Context& context) override {
    if (!after_.empty()) file_.overrides.push_back({"resources.after", after_});
    options_.source = file_.path == "-" ? "standard input" : file_.path;
    const base::Result<std::string> text = ReadJobSource(*context.surroundings.in, &file_);
    if (!text.ok()) return Fail(context, text.error());
    if (!matrix_.empty()) {
      base::Result<Sweep> sweep = PlanSweep(*text, file_, matrix_);
      if (!sweep.ok()) return Fail(context, sweep.error());
      return RunSweep(context, *std::move(sweep), options_, {});
    }
    const base::Result<JobFile> file = ReadJobText(*text, file_);
    if (!file.ok()) return Fail(context, file.error());
    return SubmitJobs(context, *file, options_);
  }

 private:
  JobFileOptions file_;
  std::vector<job::Override> matrix_;
  std::string after_;
  SubmitOptions options_;
};

}  // namespace

std::unique_ptr<Verb> MakeSubmit() { return std::make_unique<Submit>(); }

}  // namespace trainctl::client
