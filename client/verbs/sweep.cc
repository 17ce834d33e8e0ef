#include <algorithm>
#include <utility>

#include "client/exit_code.h"
#include "client/show/comparison.h"
#include "client/show/format.h"
#include "client/submit/follow.h"
#include "client/submit/submission.h"
#include "client/submit/sweep_curve.h"
#include "client/submit/sweep_points.h"
#include "client/verbs/verbs.h"

namespace trainctl::client {
namespace {

bool IsOutOfMemory(const std::string& outcome) {
  return outcome == "OOM_GPU" || outcome == "OOM_HOST";
}

// One sweep, run to its end. What this site refuses is not submitted, and stands in the curve as
// refused.
class SweepRun {
 public:
  SweepRun(Context& context, Api& api, const Sweep& sweep, const SubmitOptions& options)
      : context_(context), api_(api), sweep_(sweep), options_(options) {}

  base::Status Assess() {
    JobFile file{.notes = sweep_.notes};
    for (const SweepPoint& point : sweep_.points) file.jobs.push_back(point.job);
    base::Result<std::vector<Assessment>> assessments =
        AssessAll(context_, file, AskSite(context_), options_.force);
    if (!assessments.ok()) return assessments.error();
    assessments_ = std::move(*assessments);
    std::string refusals;
    for (size_t i = 0; i < assessments_.size(); ++i) {
      SweepResult& result = results_.emplace_back(SweepResult{.point = &sweep_.points[i]});
      if (assessments_[i].prediction)
        result.predicted_peak_bytes =
            static_cast<double>(assessments_[i].prediction->peak_allocated);
      if (!IsRefused(i)) continue;
      result.outcome = "refused";
      refusals += (refusals.empty() ? "" : "\n") +
                  job::Format(assessments_[i].site_problems, sweep_.points[i].job.name);
    }
    const bool all = std::all_of(results_.begin(), results_.end(), [](const SweepResult& result) {
      return result.outcome == "refused";
    });
    if (all) return base::Error{base::Code::kInvalid, "refused by this site:\n" + refusals};
    if (!refusals.empty())
      Warn(context_, "not submitted, since this site refuses them:\n" + refusals);
    return base::Ok{};
  }

  // All at once, as a group.
  int SubmitGroup() {
    std::vector<size_t> places;
    for (size_t i = 0; i < results_.size(); ++i) {
      if (!IsRefused(i)) places.push_back(i);
    }
    const base::Result<std::string> group = Submit(places, sweep_.name + "-sweep");
    if (!group.ok()) return Fail(context_, group.error());
    Say(context_,
        "Submitted group " + *group + " of " + std::to_string(places.size()) + " jobs.\n");
    if (!options_.wait) {
      Say(context_,
          "Follow with: trainctl wait " + *group + "; then: trainctl compare " + *group + "\n");
      return context_.for_people() ? kExitOk : Print(context_, CurveOf(sweep_, results_));
    }
    const int exit_code = FollowTo(*group, places);
    return ShowCurve(exit_code);
  }

  // One after the other; behind the first that runs out of memory the rest of the last axis is
  // skipped.
  int SubmitUntilOutOfMemory() {
    int exit_code = kExitOk;
    const size_t row = sweep_.axes.back().values.size();
    for (size_t i = 0; i < results_.size(); ++i) {
      if (!IsRefused(i)) {
        const int ended = RunOne(i);
        if (results_[i].outcome.empty()) return ShowCurve(ended);  // it goes on, or never began
        if (!IsOutOfMemory(results_[i].outcome)) exit_code = std::max(exit_code, ended);
      }
      if (!IsRefused(i) && !IsOutOfMemory(results_[i].outcome)) continue;
      for (; (i + 1) % row != 0; ++i) {
        if (!IsRefused(i + 1)) results_[i + 1].outcome = "skipped";
      }
    }
    return ShowCurve(exit_code);
  }

 private:
  bool IsRefused(size_t place) const { return !assessments_[place].site_problems.empty(); }

  // The id of the job, or of the group.
  base::Result<std::string> Submit(const std::vector<size_t>& places,
                                   const std::string& group_name) {
    JobFile file{.is_lab = !group_name.empty(), .group_name = group_name};
    std::vector<Assessment> assessments;
    for (const size_t place : places) {
      file.jobs.push_back(sweep_.points[place].job);
      assessments.push_back(assessments_[place]);
    }
    const base::Result<v1::SubmitResponse> response =
        Send(context_, api_, file, assessments, options_.force);
    if (!response.ok()) return response.error();
    for (const std::string& warning : response->warnings()) Warn(context_, warning);
    for (size_t i = 0; i < places.size(); ++i)
      results_[places[i]].id = response->jobs(static_cast<int>(i)).id();
    return group_name.empty() ? response->jobs(0).id() : response->group();
  }

  int RunOne(size_t place) {
    const base::Result<std::string> id = Submit({place}, "");
    if (!id.ok()) return Fail(context_, id.error());
    Say(context_, "Submitted " + sweep_.points[place].job.name + " as " + *id + ".\n");
    return FollowTo(*id, {place});
  }

  // Outcomes are set of those that ended.
  int FollowTo(const std::string& id, const std::vector<size_t>& places) {
    const Followed followed = Follow(context_, {.jobs = {id},
                                                .again = id,
                                                .timeout_seconds = options_.timeout_seconds,
                                                .coordinator_answered = true});
    for (const v1::JobView& view : followed.jobs) {
      for (const size_t place : places) {
        if (results_[place].id == view.id()) results_[place].outcome = view.outcome();
      }
    }
    return followed.exit_code;
  }

  int ShowCurve(int exit_code) {
    v1::CompareRequest request;
    for (const SweepResult& result : results_) {
      if (!result.id.empty()) request.add_jobs(result.id);
    }
    if (request.jobs().empty()) return exit_code;
    const base::Result<v1::CompareResponse> comparison = api_.Compare(request);
    if (!comparison.ok()) return Fail(context_, comparison.error());
    if (IsWhole(*comparison)) TakeMeasurements(*comparison, &results_);
    Say(context_, "\n");
    Print(context_, CurveOf(sweep_, results_));
    Say(context_, "\ntrainctl compare " + Join(request.jobs(), " ") + " shows all of it.\n");
    return exit_code;
  }

  Context& context_;
  Api& api_;
  const Sweep& sweep_;
  const SubmitOptions& options_;
  std::vector<Assessment> assessments_;  // one a point
  std::vector<SweepResult> results_;     //
};

class SweepVerb : public Verb {
 public:
  void Declare(Arguments& arguments) override {
    arguments.Positional("FILE", &file_.path, "a job file");
    arguments.Switch("--stop-at-oom", &stop_at_oom_,
                     "one after the other, also what is predicted not to fit; no further along the "
                     "last setting once out of memory; waits");
    DeclareSubmitOptions(arguments, &options_);
    arguments.Needs("--timeout", {"--stop-at-oom"});
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
    const base::Result<Api*> api = NeedApi(context);
    if (!api.ok()) return Fail(context, api.error());
    for (const std::string& note : sweep->notes) context.err << "note: " << note << std::endl;
    if (stop_at_oom_) options_.force = true;  // where memory ends is what it is to find
    SweepRun run(context, **api, *sweep, options_);
    if (const base::Status assessed = run.Assess(); !assessed.ok())
      return Fail(context, assessed.error());
    return stop_at_oom_ ? run.SubmitUntilOutOfMemory() : run.SubmitGroup();
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
  bool stop_at_oom_ = false;
};

}  // namespace

std::unique_ptr<Verb> MakeSweep() { return std::make_unique<SweepVerb>(); }

}  // namespace trainctl::client
