#include "client/job_filter.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

#include "client/all_jobs.h"
#include "client/naming.h"
#include "client/show/format.h"
#include "common/base/did_you_mean.h"
#include "common/job/outcome.h"

namespace trainctl::client {
namespace {

std::string Upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) {
    return c == '-' ? '_' : static_cast<char>(std::toupper(c));
  });
  return text;
}

// The states that a job goes through, and the outcomes that it ends with.
std::vector<std::string_view> StateNames() {
  std::vector<std::string_view> known;
  for (int i = 0; i <= static_cast<int>(job::JobState::kFinished); ++i)
    known.push_back(job::Name(static_cast<job::JobState>(i)));
  for (int i = 0; i <= static_cast<int>(job::Outcome::kLaunchFailed); ++i)
    known.push_back(job::Name(static_cast<job::Outcome>(i)));
  return known;
}

// "oom_gpu", as people type it.
std::vector<std::string> TypedStates() {
  std::vector<std::string> typed;
  for (const std::string_view name : StateNames()) {
    std::string& lower = typed.emplace_back(name);
    std::ranges::transform(lower, lower.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  }
  return typed;
}

base::Error UnknownState(const std::string& word) {
  const std::vector<std::string_view> known = StateNames();
  const std::string hint = base::DidYouMean(Upper(word), known);
  return {base::Code::kInvalid,
          base::WithHint("--state " + word, hint, "there are " + Join(known, ", "))};
}

base::Result<std::vector<v1::JobView>> ListOf(Api& api, const std::vector<std::string>& jobs) {
  v1::ListRequest request;
  for (const std::string& job : jobs) request.add_jobs(job);
  return ListAllJobs(api, std::move(request));
}

}  // namespace

void JobFilter::Declare(Arguments& arguments) {
  arguments.Text("--state", "STATE,…", &states_,
                 "only jobs in these states, or that ended so: queued,running or oom_gpu");
  arguments.Offers("--state", TypedStates(), /*several=*/true);
  arguments.Text("--user", "NAME,…", &users_, "only jobs that one of these submitted");
  arguments.Text("--tag", "KEY=VALUE,…", &tags_,
                 "only jobs with all of these tags; KEY alone: with any value of it");
  arguments.Text("--group", "GROUP", &group_, "only jobs of this group, by its id or name");
}

base::Status JobFilter::KeepJobsOfGroup(Context& context, Api& api,
                                        std::vector<std::string>* jobs) const {
  if (group_.empty()) return base::Ok{};
  const std::string group = NewestMeant(context, group_);
  base::Result<std::vector<v1::JobView>> views = ListOf(api, {group});
  if (!views.ok()) return views.error();
  std::set<std::string> members;
  for (const v1::JobView& view : *views) {
    if (view.group() == group || view.group_name() == group) members.insert(view.id());
  }
  if (members.empty()) {
    return base::Error{base::Code::kNotFound,
                       "no group '" + group_ + "'; trainctl status lists all jobs"};
  }
  if (jobs->empty()) {
    *jobs = {group};
    return base::Ok{};
  }
  views = ListOf(api, *jobs);
  if (!views.ok()) return views.error();
  std::vector<std::string> kept;
  for (const v1::JobView& view : *views) {
    if (members.contains(view.id())) kept.push_back(view.id());
  }
  if (kept.empty()) {
    return base::Error{base::Code::kNotFound,
                       "group '" + group_ + "' has no job '" + Join(*jobs, "', '") + "'"};
  }
  *jobs = std::move(kept);
  return base::Ok{};
}

base::Result<v1::ListRequest> JobFilter::Request(const std::vector<std::string>& jobs) const {
  v1::ListRequest request;
  for (const std::string& word : Split(states_, ',')) {
    const std::string name = Upper(word);
    if (job::ParseJobState(name)) {
      request.add_states(name);
    } else if (job::ParseOutcome(name)) {
      request.add_outcomes(name);
    } else {
      return UnknownState(word);
    }
  }
  for (std::string& user : Split(users_, ',')) request.add_users(std::move(user));
  for (std::string& tag : Split(tags_, ',')) request.add_tags(std::move(tag));
  for (const std::string& job : jobs) request.add_jobs(job);
  return request;
}

}  // namespace trainctl::client
