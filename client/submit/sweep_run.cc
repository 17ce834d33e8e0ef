#include "client/submit/sweep_run.h"

#include <algorithm>
#include <utility>

#include "client/exit_code.h"
#include "client/show/comparison.h"
#include "client/show/format.h"
#include "client/submit/dependencies.h"
#include "client/submit/follow.h"
#include "client/submit/within.h"
#include "common/job/outcome.h"

namespace trainctl::client {
namespace {

constexpr size_t kMostNamed = 8;  // what Ctrl-C says is short

bool IsOutOfMemory(const SweepResult& result) {
  return job::IsOutOfMemory(job::ParseOutcome(result.outcome));
}

}  // namespace

base::Status SweepRun::Assess(const std::optional<v1::Lease>& lease) {
  base::Result<std::vector<Assessment>> assessments =
      AssessAll(context_, FileOf(sweep_), AskSite(context_), options_.force, lease);
  if (!assessments.ok()) return assessments.error();
  assessments_ = std::move(*assessments);
  for (size_t i = 0; i < assessments_.size(); ++i) {
    SweepResult& result = results_.emplace_back(SweepResult{.point = &sweep_.points[i]});
    if (assessments_[i].prediction)
      result.predicted_peak_bytes = static_cast<double>(assessments_[i].prediction->peak_allocated);
    result.predicted_step_seconds = result.point->predicted_step_seconds;
    if (!result.predicted_step_seconds && assessments_[i].time)
      result.predicted_step_seconds = assessments_[i].time->step_seconds;
    if (IsRefused(i)) result.outcome = "refused";
  }
  const bool all = std::all_of(results_.begin(), results_.end(), [](const SweepResult& result) {
    return result.outcome == "refused";
  });
  if (all) return RefusedBySite(assessments_);
  const std::string refusals = RefusalsOf(assessments_);
  if (!refusals.empty())
    Warn(context_, "not submitted, since this site refuses them:\n" + refusals);
  if (lease) SayWhetherItFits(context_, Accepted(), options_);
  return base::Ok{};
}

std::vector<Assessment> SweepRun::Accepted() const {
  std::vector<Assessment> accepted;
  for (size_t i = 0; i < assessments_.size(); ++i) {
    if (!IsRefused(i)) accepted.push_back(assessments_[i]);
  }
  return accepted;
}

int SweepRun::SubmitGroup() {
  std::vector<size_t> places;
  for (size_t i = 0; i < results_.size(); ++i) {
    if (!IsRefused(i)) places.push_back(i);
  }
  const base::Result<std::string> group = Submit(places, FileOf(sweep_).group_name);
  if (!group.ok()) return Fail(context_, group.error());
  Say(context_, "Submitted group " + NameWithId(FileOf(sweep_).group_name, *group) + " of " +
                    Plural(static_cast<int64_t>(places.size()), "job") + ".\n");
  if (!options_.within_seconds) SayWholeTime(context_, Accepted(), options_);
  if (!options_.wait) {
    Say(context_,
        "Follow with: trainctl wait " + *group + "; then: trainctl compare " + *group + "\n");
    return context_.for_people() ? kExitOk : Print(context_, CurveOf(sweep_, results_));
  }
  const int exit_code = FollowTo(*group, places, "");
  return ShowCurve(exit_code);
}

int SweepRun::SubmitUntilOutOfMemory(size_t first) {
  int exit_code = kExitOk;
  const size_t row = sweep_.axes.back().values.size();
  for (size_t i = 0; i < first; ++i) {
    if (!IsRefused(i)) results_[i].outcome = "skipped";
  }
  for (size_t i = first; i < results_.size(); ++i) {
    if (!IsRefused(i)) {
      const int ended = RunOne(i);
      if (results_[i].outcome.empty()) return ShowCurve(ended);  // it goes on, or never began
      if (!IsOutOfMemory(results_[i])) exit_code = std::max(exit_code, ended);
    }
    if (!IsRefused(i) && !IsOutOfMemory(results_[i])) continue;
    for (; (i + 1) % row != 0; ++i) {
      if (!IsRefused(i + 1)) results_[i + 1].outcome = "skipped";
    }
  }
  return ShowCurve(exit_code);
}

base::Result<std::string> SweepRun::Submit(const std::vector<size_t>& places,
                                           const std::string& group_name) {
  JobFile file{.is_lab = !group_name.empty(), .group_name = group_name};
  std::vector<Assessment> assessments;
  for (const size_t place : places) {
    file.jobs.push_back(sweep_.points[place].job);
    assessments.push_back(assessments_[place]);
  }
  const base::Result<v1::SubmitResponse> response =
      Send(context_, api_, file, assessments, options_);
  if (!response.ok()) return response.error();
  for (const std::string& warning : response->warnings()) Warn(context_, warning);
  for (size_t i = 0; i < places.size(); ++i)
    results_[places[i]].id = response->jobs(static_cast<int>(i)).id();
  return group_name.empty() ? response->jobs(0).id() : response->group();
}

int SweepRun::RunOne(size_t place) {
  context_.surroundings.set_farewell("The sweep ends here. " + NotSubmitted(place));
  const base::Result<std::string> id = Submit({place}, "");
  if (!id.ok()) return Fail(context_, id.error());
  Say(context_, "Submitted " + sweep_.points[place].job.name + " as " + *id + ".\n");
  return FollowTo(*id, {place}, NotSubmitted(place + 1));
}

std::string SweepRun::NotSubmitted(size_t from) const {
  std::vector<std::string> left;
  for (size_t i = from; i < results_.size(); ++i) {
    if (!IsRefused(i)) left.push_back(Join(sweep_.points[i].values, " "));
  }
  if (left.empty()) return "";
  if (left.size() > kMostNamed) {
    left.resize(kMostNamed);
    left.push_back("…");
  }
  std::vector<std::string> keys;
  for (const SweepAxis& axis : sweep_.axes) keys.push_back(axis.key);
  return "Not submitted: " + Join(keys, " ") + " = " + Join(left, ", ") +
         ". To go on with them, type the same sweep with --skip " + std::to_string(from);
}

int SweepRun::FollowTo(const std::string& id, const std::vector<size_t>& places,
                       const std::string& undone) {
  const Followed followed = Follow(context_, {.jobs = {id},
                                              .again = id,
                                              .undone = undone,
                                              .timeout_seconds = options_.timeout_seconds,
                                              .coordinator_answered = true});
  for (const v1::JobView& view : followed.jobs) {
    for (const size_t place : places) {
      if (results_[place].id == view.id()) results_[place].outcome = view.outcome();
    }
  }
  return followed.exit_code;
}

int SweepRun::ShowCurve(int exit_code) {
  v1::CompareRequest request;
  for (const SweepResult& result : results_) {
    if (!result.id.empty()) request.add_jobs(result.id);
  }
  if (request.jobs().empty()) return exit_code;
  const base::Result<v1::CompareResponse> comparison = api_.Compare(request);
  if (!comparison.ok()) return Fail(context_, comparison.error());
  if (CheckWhole(*comparison).ok()) TakeMeasurements(*comparison, &results_);
  Say(context_, "\n");
  Print(context_, CurveOf(sweep_, results_));
  Say(context_, std::string(kCurveDefinitions));
  Say(context_, "\ntrainctl compare " + Join(request.jobs(), " ") + " shows all of it.\n");
  return exit_code;
}

void DeclareMatrix(Arguments& arguments, std::vector<job::Override>* matrix) {
  arguments.Settings("--matrix", "KEY=VALUE,VALUE,…", matrix,
                     "one job for each value of a setting; several --matrix: for each combination");
}

int RunSweep(Context& context, Sweep sweep, SubmitOptions options, const SweepCourse& course) {
  if (options.dry_run) return SubmitJobs(context, FileOf(sweep), options);
  const size_t points = sweep.points.size();
  if (static_cast<size_t>(course.skip) >= points) {
    return Fail(context, {base::Code::kInvalid, "--skip " + std::to_string(course.skip) +
                                                    ": this sweep has " +
                                                    Plural(static_cast<int64_t>(points), "job")});
  }
  if (const base::Status bound = CheckBound(!course.stop_at_oom, options); !bound.ok())
    return Fail(context, bound.error());
  const base::Result<Api*> api = NeedApi(context);
  if (!api.ok()) return Fail(context, api.error());
  for (const std::string& note : sweep.notes) context.err << "note: " << note << std::endl;
  const base::Result<JobFile> resolved = ResolveDependencies(context, FileOf(sweep));
  if (!resolved.ok()) return Fail(context, resolved.error());
  std::vector<job::JobSpec> jobs = resolved->jobs;
  const auto lease = FindWithin(context, &jobs, &options);
  if (!lease.ok()) return Fail(context, lease.error());
  for (size_t i = 0; i < points; ++i) sweep.points[i].job = jobs[i];
  if (course.stop_at_oom) options.force = true;  // where memory ends is what it is to find
  SweepRun run(context, **api, sweep, options);
  if (const base::Status assessed = run.Assess(*lease); !assessed.ok())
    return Fail(context, assessed.error());
  return course.stop_at_oom ? run.SubmitUntilOutOfMemory(static_cast<size_t>(course.skip))
                            : run.SubmitGroup();
}

void DeclareFileSubmission(Arguments& arguments, FileSubmission* submission) {
  DeclareSubmitOptions(arguments, &submission->options);
  arguments.Text("--after", "JOB[:any]", &submission->after,
                 "start once this job has succeeded, or with :any has ended; several: j12,j13");
  DeclareMatrix(arguments, &submission->matrix);
}

int SubmitFile(Context& context, const std::string& text, FileSubmission submission) {
  JobFileOptions& file = submission.file;
  if (!submission.after.empty()) file.overrides.push_back({"resources.after", submission.after});
  if (!submission.matrix.empty()) {
    base::Result<Sweep> sweep = PlanSweep(text, file, submission.matrix);
    if (!sweep.ok()) return Fail(context, sweep.error());
    return RunSweep(context, *std::move(sweep), submission.options, {});
  }
  const base::Result<JobFile> jobs = ReadJobText(text, file);
  if (!jobs.ok()) return Fail(context, jobs.error());
  return SubmitJobs(context, *jobs, submission.options);
}

}  // namespace trainctl::client
