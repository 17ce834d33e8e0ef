#include "client/submit/submission.h"
#include "client/submit/sweep_points.h"
#include "client/submit/sweep_run.h"
#include "client/verbs/verb.h"

namespace trainctl::client {
namespace {

class SweepVerb : public Verb {
 public:
  void Declare(Arguments& arguments) override {
    arguments.Positional("FILE", &file_.path, "a job file; - reads standard input");
    arguments.Switch("--stop-at-oom", &stop_at_oom_,
                     "one after the other, also what is predicted not to fit; no further along the "
                     "last setting once out of memory; waits");
    DeclareSubmitOptions(arguments, &options_);
    arguments.Needs("--timeout", {"--stop-at-oom"});
    arguments.Number("--skip", "N", &skip_,
                     "with --stop-at-oom: leave out the first N, which ran before, as Ctrl-C says");
    arguments.Needs("--skip", {"--stop-at-oom"});
    arguments.Text("--name", "NAME", &file_.name,
                   "what the jobs' names begin with; else the file's");
    DeclareMatrix(arguments, &matrix_);
    arguments.Overrides(&file_.overrides,
                        "override a setting; with several values the same as --matrix");
    arguments.Remark(
        "Where the micro batch varies the global batch stays as the file has it; accumulation "
        "adapts, unless --set or --matrix says another\n"
        "train.global_batch_size or train.accumulate_grad_batches. --wait and --stop-at-oom print "
        "the curve of time and memory at the "
        "end.\n"
        "--timeout is of each wait. Exit status as wait's; with --stop-at-oom running out of "
        "memory is no failure.");
  }

  int Run(Context& context) override {
    const base::Result<std::string> text = ReadJobSource(*context.surroundings.in, &file_);
    if (!text.ok()) return Fail(context, text.error());
    std::vector<job::Override> axes = TakeAxes(&file_.overrides);
    axes.insert(axes.end(), matrix_.begin(), matrix_.end());
    base::Result<Sweep> sweep = PlanSweep(*text, file_, axes);
    if (!sweep.ok()) return Fail(context, sweep.error());
    options_.source = file_.path;
    return RunSweep(context, *std::move(sweep), options_, {stop_at_oom_, skip_.value_or(0)});
  }

 private:
  JobFileOptions file_;
  std::vector<job::Override> matrix_;
  SubmitOptions options_;
  std::optional<int64_t> skip_;
  bool stop_at_oom_ = false;
};

}  // namespace

std::unique_ptr<Verb> MakeSweep() { return std::make_unique<SweepVerb>(); }

}  // namespace trainctl::client
