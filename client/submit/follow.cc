#include "client/submit/follow.h"

#include <algorithm>
#include <utility>

#include "client/naming.h"
#include "client/show/decoded.h"
#include "client/show/format.h"
#include "client/submit/patience.h"
#include "client/submit/progress.h"
#include "common/job/outcome.h"

namespace trainctl::client {
namespace {

constexpr double kWatchPeriodSeconds = 60;

class Follower {
 public:
  Follower(Context& context, const FollowOptions& options)
      : context_(context),
        options_(options),
        progress_(Stream(context), TerminalOf(context), &context.clock()),
        patience_(context.clock(), [this](const std::string& text) { progress_.Note(text); }) {}

  int Run() {
    const base::Result<Api*> api = NeedApi(context_);
    if (!api.ok()) return Fail(context_, api.error());
    started_ = context_.clock().Steady();
    if (options_.coordinator_answered) patience_.Heard();
    context_.surroundings.set_farewell(
        "Detached: the jobs go on. Follow again with: trainctl wait " + options_.again + Undone());
    const int exit_code = Loop(**api);
    context_.surroundings.set_farewell("");
    progress_.Finish();
    return exit_code;
  }

  std::vector<v1::JobView> Jobs() const { return jobs_; }

 private:
  // What scripts read from stdout stays free of progress.
  static std::ostream* Stream(Context& context) {
    return context.for_people() ? &context.out : &context.err;
  }
  static const Terminal& TerminalOf(const Context& context) {
    return context.for_people() ? context.surroundings.out_terminal
                                : context.surroundings.err_terminal;
  }

  // Without a time to wait: how they are now.
  int Look() {
    for (const std::string& job : options_.jobs) {
      const base::Result<v1::GetResponse> found = GetJobs(context_, job);
      if (!found.ok()) return Fail(context_, found.error());
      for (const v1::JobDetail& detail : found->jobs()) Hear(detail.view());
    }
    return AllEnded() ? WorstExitCode() : TimedOut();
  }

  int Loop(Api& api) {
    if (options_.timeout_seconds && *options_.timeout_seconds <= 0) return Look();
    v1::WatchRequest request;
    for (const std::string& job : options_.jobs) request.add_jobs(job);
    while (true) {
      const base::Status status = api.Watch(request, std::min(kWatchPeriodSeconds, SecondsLeft()),
                                            [this](const v1::JobView& view) {
                                              Hear(view);
                                              return SecondsLeft() > 0;
                                            });
      if (AllEnded()) return WorstExitCode();
      if (SecondsLeft() <= 0) return TimedOut();
      if (!status.ok() && !patience_.Bear(status.error())) return Fail(context_, status.error());
      context_.surroundings.sleep(std::min(Patience::kRetrySeconds, SecondsLeft()));
    }
  }

  void Hear(const v1::JobView& view) {
    patience_.Heard();
    const auto same_id = [&](const v1::JobView& job) { return job.id() == view.id(); };
    const auto known = std::find_if(jobs_.begin(), jobs_.end(), same_id);
    if (known == jobs_.end()) {
      jobs_.push_back(view);
    } else {
      *known = view;
    }
    progress_.Update(view);
  }

  double SecondsLeft() const {
    if (!options_.timeout_seconds) return 1e9;
    return static_cast<double>(*options_.timeout_seconds) -
           static_cast<double>(context_.clock().Steady() - started_) / 1e6;
  }

  bool AllEnded() const {
    return !jobs_.empty() && std::all_of(jobs_.begin(), jobs_.end(),
                                         [](const v1::JobView& job) { return HasEnded(job); });
  }

  int TimedOut() {
    progress_.Finish();
    context_.err
        << "trainctl: the time is over and the jobs go on; follow again with: trainctl wait "
        << options_.again << Undone() << std::endl;
    return kExitTimeout;
  }

  std::string Undone() const { return options_.undone.empty() ? "" : "\n" + options_.undone; }

  // Of several jobs: what a person would want to hear of first.
  int WorstExitCode() const {
    for (const ExitCode code :
         {kExitJobFailed, kExitOutOfMemory, kExitDiverged, kExitTimeLimit, kExitCancelled}) {
      if (std::any_of(jobs_.begin(), jobs_.end(),
                      [&](const v1::JobView& job) { return ExitCodeOfJob(job) == code; }))
        return code;
    }
    return kExitOk;
  }

  Context& context_;
  const FollowOptions& options_;
  Progress progress_;
  std::vector<v1::JobView> jobs_;
  Patience patience_;
  int64_t started_ = 0;
};

ExitCode ExitCodeOfOutcome(job::Outcome outcome) {
  switch (outcome) {
    case job::Outcome::kSucceeded: return kExitOk;
    case job::Outcome::kOomGpu:
    case job::Outcome::kOomHost: return kExitOutOfMemory;
    case job::Outcome::kDiverged: return kExitDiverged;
    case job::Outcome::kCancelled: return kExitCancelled;
    case job::Outcome::kTimeout: return kExitTimeLimit;
    case job::Outcome::kFailed:
    case job::Outcome::kHang:
    case job::Outcome::kNcclError:
    case job::Outcome::kGpuFault:
    case job::Outcome::kNodeLost:
    case job::Outcome::kLeaseEnded:
    case job::Outcome::kPreempted:
    case job::Outcome::kLaunchFailed: return kExitJobFailed;
  }
  return kExitJobFailed;
}

}  // namespace

ExitCode ExitCodeOfJob(const v1::JobView& view) {
  if (view.has_as_expected() && view.as_expected()) return kExitOk;
  const std::optional<job::Outcome> outcome = job::ParseOutcome(view.outcome());
  if (!outcome) return kExitJobFailed;  // of a newer coordinator
  const ExitCode code = ExitCodeOfOutcome(*outcome);
  return code == kExitOk && view.has_as_expected() ? kExitJobFailed : code;
}

Followed Follow(Context& context, const FollowOptions& options) {
  Follower follower(context, options);
  const int exit_code = follower.Run();
  return {exit_code, follower.Jobs()};
}

}  // namespace trainctl::client
