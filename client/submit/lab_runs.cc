#include "client/submit/lab_runs.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "client/all_jobs.h"
#include "client/show/decoded.h"
#include "client/show/format.h"
#include "client/show/lab_differences.h"
#include "common/job/job_json.h"

namespace trainctl::client {
namespace {

using Views = std::vector<v1::JobView>;

// The newest first, by user and experiment.
using ViewsOf = std::map<std::pair<std::string, std::string>, Views>;

base::Result<ViewsOf> ListRuns(Api& api, const std::vector<job::JobSpec>& experiments,
                               const std::vector<std::string>& users) {
  v1::ListRequest request;
  std::set<std::string> names;
  for (const job::JobSpec& experiment : experiments) {
    if (names.insert(experiment.name).second) request.add_names(experiment.name);
  }
  for (const std::string& user : users) request.add_users(user);
  base::Result<Views> listed = ListAllJobs(api, std::move(request));
  if (!listed.ok()) return listed.error();
  ViewsOf views;
  for (v1::JobView& view : *listed) {
    // Others are of a group with that name.
    if (names.contains(view.name())) views[{view.owner(), view.name()}].push_back(std::move(view));
  }
  for (auto& [whose, runs] : views) {
    std::ranges::stable_sort(runs, [](const v1::JobView& a, const v1::JobView& b) {
      return a.submitted_at() > b.submitted_at();
    });
  }
  return views;
}

// A user's job. nullopt: it is not known any more, another's, or this version can't read it.
base::Result<std::optional<job::JobSpec>> SpecOf(Api& api, const std::string& id,
                                                 const std::string& user) {
  v1::GetRequest request;
  request.set_job(id);
  const base::Result<v1::GetResponse> response = api.Get(request);
  if (!response.ok() && response.error().code == base::Code::kNotFound)
    return std::optional<job::JobSpec>();
  if (!response.ok()) return response.error();
  if (response->jobs().empty() || response->jobs(0).view().owner() != user)
    return std::optional<job::JobSpec>();
  const base::Result<job::JobSpec> spec = job::FromJson(response->jobs(0).job_json());
  return spec.ok() ? std::optional(*spec) : std::nullopt;
}

job::JobSpec FromItsBeginning(job::JobSpec job) {
  job.checkpoint.resume_from.reset();
  job.checkpoint.resume_job.reset();
  return job;
}

struct Judged {
  std::vector<std::string> changed, earlier;  // as of LabRun
};

// A run that was resumed is as the lab has it where all its parts are. What this version can't read
// of the job differs in nothing that it knows.
base::Result<Judged> Judge(Api& api, const v1::JobView& view, const job::JobSpec& experiment) {
  constexpr size_t kMostParts = 1000;
  base::Result<std::optional<job::JobSpec>> part = SpecOf(api, view.id(), view.owner());
  if (!part.ok()) return part.error();
  if (!*part) return Judged();
  const Judged alone = {DifferencesFromLab(experiment, **part), {}};
  if (experiment.checkpoint.resume_from) return alone;
  Judged whole = {DifferencesFromLab(experiment, FromItsBeginning(**part)), {}};
  while ((*part)->checkpoint.resume_from) {
    const std::optional<std::string> earlier = (*part)->checkpoint.resume_job;
    if (!earlier || whole.earlier.size() == kMostParts) return alone;
    part = SpecOf(api, *earlier, view.owner());
    if (!part.ok()) return part.error();
    if (!*part) return alone;
    whole.earlier.push_back(*earlier);
    for (std::string& changed : DifferencesFromLab(experiment, FromItsBeginning(**part))) {
      if (std::ranges::find(whole.changed, changed) == whole.changed.end())
        whole.changed.push_back(std::move(changed));
    }
  }
  return whole;
}

void JudgeAsLab(const job::JobSpec& experiment, Views* views) {
  const job::Expect expect = experiment.expect.value_or(job::Expect::kSucceeded);
  for (v1::JobView& view : *views) {
    const std::optional<job::Outcome> outcome = OutcomeOf(view);
    view.clear_as_expected();
    if (outcome) view.set_as_expected(job::IsAsExpected(*outcome, expect));
  }
}

base::Status Choose(Api& api, const Views& views, const job::JobSpec& experiment, LabRun* chosen) {
  const auto choose = [chosen](const v1::JobView& view, Judged judged) {
    chosen->job = view;
    chosen->changed = std::move(judged.changed);
    chosen->earlier = std::move(judged.earlier);
  };
  for (const v1::JobView& view : views) {
    if (!view.as_expected()) continue;
    base::Result<Judged> judged = Judge(api, view, experiment);
    if (!judged.ok()) return judged.error();
    if (chosen->job && !judged->changed.empty()) continue;
    choose(view, *std::move(judged));
    if (chosen->changed.empty()) return base::Ok{};
  }
  if (chosen->job) return base::Ok{};
  const auto goes_on =
      std::ranges::find_if(views, [](const v1::JobView& view) { return !HasEnded(view); });
  const v1::JobView& view = goes_on != views.end() ? *goes_on : views.front();
  base::Result<Judged> judged = Judge(api, view, experiment);
  if (!judged.ok()) return judged.error();
  choose(view, *std::move(judged));
  return base::Ok{};
}

std::vector<std::string> UsersOf(const ViewsOf& views) {
  std::set<std::string> users;
  for (const auto& [whose, runs] : views) users.insert(whose.first);
  return {users.begin(), users.end()};
}

bool EndedAsExpected(const LabRun& run) { return run.job && run.job->as_expected(); }

}  // namespace

bool IsDone(const LabRun& run) { return EndedAsExpected(run) && run.changed.empty(); }

void LabProgress::Add(const LabRun& run) {
  ++experiments;
  if (IsDone(run)) {
    ++done;
  } else if (EndedAsExpected(run)) {
    ++done_otherwise;
  }
}

std::string ProgressText(const LabProgress& progress) {
  return std::to_string(progress.done) + " of " + std::to_string(progress.experiments) + " done" +
         (progress.done_otherwise == 0
              ? ""
              : ", " + std::to_string(progress.done_otherwise) + " with other settings");
}

base::Result<std::vector<LabRun>> FindLabRuns(Api& api,
                                              const std::vector<job::JobSpec>& experiments,
                                              std::vector<std::string> users) {
  base::Result<ViewsOf> views = ListRuns(api, experiments, users);
  if (!views.ok()) return views.error();
  if (users.empty()) users = UsersOf(*views);
  std::vector<LabRun> found;
  for (const std::string& user : users) {
    for (const job::JobSpec& experiment : experiments) {
      LabRun& run = found.emplace_back(LabRun{.user = user, .experiment = experiment.name});
      const auto its = views->find({user, experiment.name});
      if (its == views->end()) continue;
      run.runs = static_cast<int64_t>(its->second.size());
      JudgeAsLab(experiment, &its->second);
      if (const base::Status chosen = Choose(api, its->second, experiment, &run); !chosen.ok())
        return chosen.error();
    }
  }
  return found;
}

}  // namespace trainctl::client
