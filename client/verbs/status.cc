#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "client/exit_code.h"
#include "client/job_filter.h"
#include "client/naming.h"
#include "client/show/decoded.h"
#include "client/show/format.h"
#include "client/show/job_listing.h"
#include "client/show/site_time.h"
#include "client/show/worker_state.h"
#include "client/verbs/verb.h"

namespace trainctl::client {
namespace {

constexpr double kRefreshSeconds = 2;
constexpr int kFewestLines = 4;  // of jobs

int LinesOf(const std::string& text) { return static_cast<int>(std::ranges::count(text, '\n')); }

// Places in `views`, the most wanted first.
std::vector<size_t> ByWant(const std::vector<v1::JobView>& views) {
  std::vector<size_t> places(views.size());
  std::iota(places.begin(), places.end(), size_t{0});
  std::ranges::stable_sort(places, {}, [&views](size_t place) {
    const v1::JobView& view = views[place];
    const bool runs = StateOf(view) != job::JobState::kQueued && !HasEnded(view);
    return std::tuple(!runs, -view.submitted_at());
  });
  return places;
}

std::string Table(const std::vector<v1::JobView>& views, std::vector<size_t> places, int64_t now,
                  const TableLayout& layout) {
  std::ranges::sort(places);
  std::vector<v1::JobView> kept;
  for (const size_t place : places) kept.push_back(views[place]);
  return ListJobs(kept, now).table.Render(layout);
}

// The table of those that fit into so many lines, in their order: first what runs, then the newest.
// Below it how many were left out. lines 0: all.
std::string JobsInView(const std::vector<v1::JobView>& views, int64_t now,
                       const TableLayout& layout, int lines) {
  std::vector<size_t> places = ByWant(views);
  if (lines > 0) places.resize(std::min(places.size(), static_cast<size_t>(lines)));
  std::string text = Table(views, places, now, layout);
  if (lines == 0) return text;
  // A job may take several lines.
  const auto fits = [&] {
    const bool all = places.size() == views.size();
    return LinesOf(text) + (all ? 0 : 1) <= lines;
  };
  while (places.size() > 1 && !fits()) {
    places.pop_back();
    text = Table(views, places, now, layout);
  }
  if (places.size() == views.size()) return text;
  return text + "and " + Plural(static_cast<int64_t>(views.size() - places.size()), "older job") +
         ", for which the terminal is not high enough\n";
}

// "host-a: 2 of 4 devices busy, 1 lost", one a host; before them what keeps the coordinator itself.
std::string HostsText(const v1::ListResponse& response) {
  std::map<std::string, WorkerCounts> hosts;
  for (const v1::WorkerView& worker : response.workers()) hosts[worker.host()].Add(worker);
  std::string text;
  if (!response.store_trouble().empty()) {
    text =
        "the coordinator could not store what it heard last, and accepts nothing until it can: " +
        response.store_trouble() + "\n";
  }
  for (const auto& [name, host] : hosts) {
    text += name + ": " + std::to_string(host.busy) + " of " + Plural(host.devices, "device") +
            " busy" + host.TroubleText("not free") + "\n";
  }
  if (hosts.empty()) text += "no workers: jobs stay queued until a trainworker registers\n";
  return text;
}

class Status : public Verb {
 public:
  void Declare(Arguments& arguments) override {
    arguments.Positionals("JOB", &jobs_, "ids or names of jobs and groups; none: all",
                          /*required=*/false);
    arguments.Switch("-w,--watch", &watch_,
                     "show again every two seconds until the jobs ended, or Ctrl-C");
    arguments.Switch("--unfinished", &unfinished_, "only jobs that have not ended");
    filter_.Declare(arguments);
    arguments.Number("-n,--limit", "N", &limit_, "the newest N jobs", /*least=*/1);
    arguments.Remark(
        "LEFT is how long a running job goes on: by the pace of its steps, before them as "
        "predicted. Its time limit or a lease may come first.");
  }

  int Run(Context& context) override {
    const base::Result<Api*> api = NeedApi(context);
    if (!api.ok()) return Fail(context, api.error());
    jobs_ = NewestMeant(context, jobs_);
    if (const base::Status kept = filter_.KeepJobsOfGroup(context, **api, &jobs_); !kept.ok())
      return Fail(context, kept.error());
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
          return Fail(context, NoSuchJob(context, jobs_));
        Show(context, *response);
        const bool all_ended = std::all_of(response->jobs().begin(), response->jobs().end(),
                                           [](const v1::JobView& job) { return HasEnded(job); });
        if (!watch_ || all_ended) return kExitOk;
      }
      context.surroundings.sleep(kRefreshSeconds);
    }
  }

 private:
  // Named jobs may be there and not pass.
  bool IsFiltered() const { return unfinished_ || filter_.IsNarrow(); }

  base::Result<v1::ListRequest> Request() const {
    base::Result<v1::ListRequest> request = filter_.Request(jobs_);
    if (!request.ok()) return request;
    request->set_unfinished_only(unfinished_);
    request->set_limit(limit_.value_or(0));
    return request;
  }

  // Watched, a page stands still: it is no longer than the terminal is high. 0: as it comes.
  int LinesForJobs(const Terminal& terminal, const std::string& below) const {
    if (!watch_ || !terminal.interactive || terminal.height <= 0) return 0;
    const auto lines = static_cast<int>(std::ranges::count(below, '\n')) + 1;
    return std::max(kFewestLines, terminal.height - lines);
  }

  void Show(Context& context, const v1::ListResponse& response) {
    const std::vector<v1::JobView> views(response.jobs().begin(), response.jobs().end());
    const int64_t now = SiteTime(views, context.clock());
    if (!context.for_people()) {
      Print(context, ListJobs(views, now));
      return;
    }
    const Terminal& terminal = context.surroundings.out_terminal;
    if (watch_ && terminal.interactive) {
      context.out << "\xff[H\xff[2J";
    } else if (shown_) {
      context.out << "\n";
    }
    const char* older =
        response.more() && !limit_ ? "… and older jobs: --limit N shows the newest N\n" : "";
    const std::string below = older + ("\n" + HostsText(response));
    const std::string none = IsFiltered() ? "no such jobs\n" : "no jobs\n";
    const std::string jobs =
        views.empty() ? none
                      : JobsInView(views, now, terminal.layout, LinesForJobs(terminal, below));
    context.out << jobs << below << std::flush;
    shown_ = true;
  }

  std::vector<std::string> jobs_;
  JobFilter filter_;
  bool watch_ = false;
  bool unfinished_ = false;
  std::optional<int64_t> limit_;
  bool shown_ = false;
};

}  // namespace

std::unique_ptr<Verb> MakeStatus() { return std::make_unique<Status>(); }

}  // namespace trainctl::client
