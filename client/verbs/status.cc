#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <utility>

#include "client/exit_code.h"
#include "client/naming.h"
#include "client/show/format.h"
#include "client/show/job_listing.h"
#include "client/verbs/verb.h"
#include "common/base/did_you_mean.h"
#include "common/job/outcome.h"

namespace trainctl::client {
namespace {

constexpr double kRefreshSeconds = 2;

// "host-a: 2 of 4 devices busy, 1 lost", one a host.
std::string HostsText(const v1::ListResponse& response) {
  struct Host {
    int devices = 0, busy = 0, lost = 0, dirty = 0, drained = 0;
  };
  std::map<std::string, Host> hosts;
  for (const v1::WorkerView& worker : response.workers()) {
    Host& host = hosts[worker.host()];
    ++host.devices;
    host.busy += worker.state() == "BUSY";
    host.lost += worker.state() == "LOST";
    host.dirty += worker.state() == "DIRTY";
    host.drained += worker.has_drain();
  }
  std::string text;
  for (const auto& [name, host] : hosts) {
    text +=
        name + ": " + std::to_string(host.busy) + " of " + Plural(host.devices, "device") + " busy";
    if (host.lost > 0) text += ", " + std::to_string(host.lost) + " lost";
    if (host.dirty > 0) text += ", " + std::to_string(host.dirty) + " not free of other processes";
    if (host.drained > 0) text += ", " + std::to_string(host.drained) + " drained";
    text += "\n";
  }
  return text.empty() ? "no workers: jobs stay queued until a trainworker registers\n" : text;
}

std::string Upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) {
    return c == '-' ? '_' : static_cast<char>(std::toupper(c));
  });
  return text;
}

// Of the states that a job goes through, and the outcomes that it ends with.
base::Error UnknownState(const std::string& word) {
  std::vector<std::string_view> known;
  for (int i = 0; i <= static_cast<int>(job::JobState::kFinished); ++i)
    known.push_back(job::Name(static_cast<job::JobState>(i)));
  for (int i = 0; i <= static_cast<int>(job::Outcome::kLaunchFailed); ++i)
    known.push_back(job::Name(static_cast<job::Outcome>(i)));
  const std::string hint = base::DidYouMean(Upper(word), known);
  return {base::Code::kInvalid, "--state " + word + (hint.empty() ? "" : ": " + hint) +
                                    "; there are " + Join(known, ", ")};
}

class Status : public Verb {
 public:
  void Declare(Arguments& arguments) override {
    arguments.Positionals("JOB", &jobs_, "ids or names of jobs and groups; none: all",
                          /*required=*/false);
    arguments.Switch("-w,--watch", &watch_,
                     "show again every two seconds until the jobs ended, or Ctrl-C");
    arguments.Switch("--unfinished", &unfinished_, "only jobs that have not ended");
    arguments.Text("--state", "STATE,…", &states_,
                   "only jobs in these states, or that ended so: queued,running or oom_gpu");
    arguments.Text("--user", "NAME,…", &users_, "only jobs that one of these submitted");
    arguments.Text("--tag", "KEY=VALUE,…", &tags_,
                   "only jobs with all of these tags; KEY alone: with any value of it");
    arguments.Text("--group", "GROUP", &group_, "only jobs of this group, by its id or name");
    arguments.Number("-n,--limit", "N", &limit_, "the newest N jobs");
    arguments.Remark("LEFT is the time that a running job still needs, by the pace of its steps.");
  }

  int Run(Context& context) override {
    const base::Result<Api*> api = NeedApi(context);
    if (!api.ok()) return Fail(context, api.error());
    if (limit_ == 0) return Fail(context, {base::Code::kInvalid, "--limit 0: expected 1 or more"});
    jobs_ = NewestMeant(context, jobs_);
    if (!group_.empty()) {
      if (const base::Status kept = KeepJobsOfGroup(context, **api); !kept.ok())
        return Fail(context, kept.error());
    }
    const base::Result<v1::ListRequest> request = Request();
    if (!request.ok()) return Fail(context, request.error());
    while (true) {
      const base::Result<v1::ListResponse> response = (*api)->List(*request);
      if (!response.ok() &&
          !(watch_ && shown_ && response.error().code == base::Code::kUnavailable)) {
        return Fail(context, response.error());
      }
      if (response.ok()) {
        if (!jobs_.empty() && response->jobs().empty() && !IsFiltered())
          return Fail(context, NotFound());
        Show(context, *response);
        const bool all_ended =
            std::all_of(response->jobs().begin(), response->jobs().end(),
                        [](const v1::JobView& job) { return job.state() == "FINISHED"; });
        if (!watch_ || all_ended) return kExitOk;
      }
      context.surroundings.sleep(kRefreshSeconds);
    }
  }

 private:
  static base::Result<std::vector<v1::JobView>> ListOf(Api& api,
                                                       const std::vector<std::string>& jobs) {
    v1::ListRequest request;
    for (const std::string& job : jobs) request.add_jobs(job);
    const base::Result<v1::ListResponse> response = api.List(request);
    if (!response.ok()) return response.error();
    return std::vector<v1::JobView>(response->jobs().begin(), response->jobs().end());
  }

  // Of the jobs that are named, those of the group; of none, the group. kNotFound: there is no such
  // group, or it has none of them.
  base::Status KeepJobsOfGroup(Context& context, Api& api) {
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
    if (jobs_.empty()) {
      jobs_ = {group};
      return base::Ok{};
    }
    views = ListOf(api, jobs_);
    if (!views.ok()) return views.error();
    std::vector<std::string> kept;
    for (const v1::JobView& view : *views) {
      if (members.contains(view.id())) kept.push_back(view.id());
    }
    if (kept.empty()) {
      return base::Error{base::Code::kNotFound,
                         "group '" + group_ + "' has no job '" + Join(jobs_, "', '") + "'"};
    }
    jobs_ = std::move(kept);
    return base::Ok{};
  }

  // Named jobs may be there and not pass.
  bool IsFiltered() const {
    return unfinished_ || !states_.empty() || !users_.empty() || !tags_.empty();
  }

  // kInvalid: there is no such state.
  base::Result<v1::ListRequest> Request() const {
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
    for (const std::string& job : jobs_) request.add_jobs(job);
    request.set_unfinished_only(unfinished_);
    request.set_limit(limit_.value_or(0));
    return request;
  }

  base::Error NotFound() const {
    return {base::Code::kNotFound,
            "no job or group '" + Join(jobs_, "', '") + "'; trainctl status lists all"};
  }

  void Show(Context& context, const v1::ListResponse& response) {
    const std::vector<v1::JobView> views(response.jobs().begin(), response.jobs().end());
    const Listing listing = ListJobs(views, context.clock().Wall());
    if (!context.for_people()) {
      Print(context, listing);
      return;
    }
    const Terminal& terminal = context.surroundings.out_terminal;
    if (watch_ && terminal.interactive) {
      context.out << "\xff[H\xff[2J";
    } else if (shown_) {
      context.out << "\n";
    }
    const std::string jobs = views.empty() ? "no jobs\n" : listing.table.Render(terminal.layout);
    context.out << jobs << "\n" << HostsText(response) << std::flush;
    shown_ = true;
  }

  std::vector<std::string> jobs_;
  std::string states_, users_, tags_, group_;
  bool watch_ = false;
  bool unfinished_ = false;
  std::optional<int64_t> limit_;
  bool shown_ = false;
};

}  // namespace

std::unique_ptr<Verb> MakeStatus() { return std::make_unique<Status>(); }

}  // namespace trainctl::client
