#include "client/submit/sweep_run.h"
#include "client/verbs/verb.h"

namespace trainctl::client {
namespace {

class Submit : public Verb {
 public:
  void Declare(Arguments& arguments) override {
    arguments.Positional(
        "FILE", &submission_.file.path,
        "a job file, or a lab file {\"base\": …, \"experiments\": […]}; - reads standard "
        "input");
    arguments.Text(
        "--name", "NAME", &submission_.file.name,
        "of the job, or of a lab file's group; with --matrix what the jobs' names begin with; "
        "else the file's");
    DeclareFileSubmission(arguments, &submission_);
    arguments.Overrides(&submission_.file.overrides,
                        "override a setting; also --KEY VALUE, as in --train.micro_batch_size 8");
    arguments.Remark(
        "Relative paths in the file are relative to the file, those typed here to the current "
        "folder; the workers must see them too.\n"
        "Ctrl-C during --wait detaches and never ends a job.\n"
        "A job that is to start --after another's success is cancelled when that one ends "
        "otherwise.");
  }

  int Run(Context& context) override {
    JobFileOptions& file = submission_.file;
    submission_.options.source = file.path == "-" ? "standard input" : file.path;
    const base::Result<std::string> text = ReadJobSource(*context.surroundings.in, &file);
    return text.ok() ? SubmitFile(context, *text, submission_) : Fail(context, text.error());
  }

 private:
  FileSubmission submission_;
};

}  // namespace

std::unique_ptr<Verb> MakeSubmit() { return std::make_unique<Submit>(); }

}  // namespace trainctl::client
