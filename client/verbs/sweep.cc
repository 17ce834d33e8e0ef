#include "client/submit/submission.h"
#include "client/submit/sweep_points.h"
#include "client/submit/sweep_run.h"
#include "client/verbs/verb.h"

namespace trainctl::client {
namespace {

class SweepVerb : public Verb {
 public:
  void Declare(Arguments& arguments) override {
    arguments.Positional("FILE", &file_.path, "a job file");
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
    arguments.Overrides(&file_.overrides,
                        "KEY=VALUE,VALUE,…: one job for each; several --set: for each combination");
    arguments.Remark(
        "Where the micro batch varies the global batch stays as the file has it, and accumulation "
        "adapts, unless --set says another\n"
        "train.global_batch_size or train.accumulate_grad_batches. --wait and --stop-at-oom print "
        "the curve of time and memory at the "
        "end.\n"
        "--timeout is of each wait. Exit status as wait's; with --stop-at-oom running out of "
        "memory is no failure.");
  }

  int Run(Context& context) override {
    const base::Result<Sweep> sweep = PlanSweep(file_);
    if (!sweep.ok()) return Fail(context, sweep.error());
    if (options_.dry_run) return DryRun(context, *sweep);
    const auto points = static_cast<int64_t>(sweep->points.size());
    if (skip_.value_or(0) >= points) {
      return Fail(context,
                  {base::Code::kInvalid, "--skip " + std::to_string(*skip_) + ": this sweep has " +
                                             std::to_string(points) + " jobs"});
    }
    if (const base::Status bound = CheckBound(!stop_at_oom_, options_); !bound.ok())
      return Fail(context, bound.error());
    const base::Result<Api*> api = NeedApi(context);
    if (!api.ok()) return Fail(context, api.error());
    for (const std::string& note : sweep->notes) context.err << "note: " << note << std::endl;
    if (stop_at_oom_) options_.force = true;  // where memory ends is what it is to find
    SweepRun run(context, **api, *sweep, options_);
    if (const base::Status assessed = run.Assess(); !assessed.ok())
      return Fail(context, assessed.error());
    return stop_at_oom_ ? run.SubmitUntilOutOfMemory(static_cast<size_t>(skip_.value_or(0)))
                        : run.SubmitGroup();
  }

 private:
  int DryRun(Context& context, const Sweep& sweep) {
    JobFile file{.is_lab = true, .group_name = sweep.name, .notes = sweep.notes};
    for (const SweepPoint& point : sweep.points) file.jobs.push_back(point.job);
    options_.source = file_.path;
    return SubmitJobs(context, file, options_);
  }

  JobFileOptions file_;
  SubmitOptions options_;
  std::optional<int64_t> skip_;
  bool stop_at_oom_ = false;
};

}  // namespace

std::unique_ptr<Verb> MakeSweep() { return std::make_unique<SweepVerb>(); }

}  // namespace trainctl::client
