#include <algorithm>
#include <utility>

#include "client/all_jobs.h"
#include "client/exit_code.h"
#include "client/files/removed_outputs.h"
#include "client/job_filter.h"
#include "client/naming.h"
#include "client/show/decoded.h"
#include "client/show/format.h"
#include "client/show/job_listing.h"
#include "client/show/site_time.h"
#include "client/verbs/verb.h"
#include "common/base/size.h"

namespace trainctl::client {
namespace {

constexpr size_t kAtOnce = 20;  // the coordinator answers nobody else meanwhile

class Rm : public Verb {
 public:
  void Declare(Arguments& arguments) override {
    arguments.Positionals("JOB", &jobs_, "ids or names of jobs and groups", /*required=*/false);
    arguments.Duration("--older-than", &older_seconds_,
                       "only jobs that ended so long ago, such as 12h or 30d");
    filter_.Declare(arguments);
    arguments.Switch("--outputs", &outputs_,
                     "also the files that they have saved under their output.dir");
    arguments.Switch("--dry-run", &dry_run_, "remove nothing: list what would be removed");
    arguments.Switch("--yes", &sure_, "what is removed can't be had back");
    arguments.Remark(
        "Removes what the site knows of jobs that have ended: settings, attempts, metrics, logs. "
        "What they have saved under their output.dir stays, unless --outputs is said.\n"
        "Without JOB all that pass the rule are removed. Jobs of others: for operators.\n"
        "--outputs: models, checkpoints, traces and curves go that are still as a job has saved "
        "them, on all its hosts. What was changed since, and what others have put there, stays "
        "and is named. Where one of the hosts can't be asked or refuses, the job is kept with all "
        "its files. So is one whose folder is another job's by now. --dry-run counts what hosts "
        "share on each of them.");
  }

  int Run(Context& context) override {
    if (jobs_.empty() && !filter_.IsGiven() && !older_seconds_) {
      return Fail(context, {base::Code::kInvalid,
                            "which jobs? Name them, or say a rule such as --older-than 30d or "
                            "--state failed"});
    }
    const base::Result<Api*> api = NeedApi(context);
    if (!api.ok()) return Fail(context, api.error());
    const base::Result<std::vector<v1::JobView>> found = Find(context, **api);
    if (!found.ok()) return Fail(context, found.error());
    if (dry_run_ && outputs_) return ShowOutputs(context, **api, *found);
    if (dry_run_) return ShowDryRun(context, *found);
    if (!sure_ && !found->empty()) {
      return Fail(context, {base::Code::kInvalid,
                            Plural(static_cast<int64_t>(found->size()), "job") +
                                " would be removed, with metrics and logs" +
                                (outputs_ ? " and the files that they have saved" : "") +
                                ", and can't be had back; --dry-run lists them. If so, add --yes"});
    }
    return outputs_ ? RemoveOutputs(context, **api, *found) : Remove(context, **api, *found);
  }

 private:
  // The clock's beginning, where it would be before that.
  int64_t EndedBefore(const Context& context) const {
    const int64_t now = context.clock().Wall();
    return std::max<int64_t>(1, now - std::min(*older_seconds_, now / 1'000'000) * 1'000'000);
  }

  // Of those that are named also what can't be removed: the coordinator says why.
  base::Result<std::vector<v1::JobView>> Find(Context& context, Api& api) {
    jobs_ = NewestMeant(context, jobs_);
    if (const base::Status kept = filter_.KeepJobsOfGroup(context, api, &jobs_); !kept.ok())
      return kept.error();
    base::Result<v1::ListRequest> request = filter_.Request(jobs_);
    if (!request.ok()) return request.error();
    if (older_seconds_) request->set_ended_before(EndedBefore(context));
    base::Result<std::vector<v1::JobView>> found = ListAllJobs(api, *std::move(request));
    if (!found.ok()) return found;
    if (jobs_.empty()) std::erase_if(*found, [](const v1::JobView& job) { return !HasEnded(job); });
    if (found->empty() && !jobs_.empty() && !filter_.IsNarrow() && !older_seconds_)
      return NoSuchJob(context, jobs_);
    return found;
  }

  int ShowDryRun(Context& context, const std::vector<v1::JobView>& jobs) const {
    const Listing listing = ListJobs(jobs, SiteTime(jobs, context.clock()));
    if (!context.for_people()) return Print(context, listing);
    if (!jobs.empty()) {
      const TableLayout& layout = context.surroundings.out_terminal.layout;
      Say(context, listing.table.Render(layout) + "\n");
    }
    Say(context, "Dry run: " + Plural(static_cast<int64_t>(jobs.size()), "job") +
                     " would be removed, and nothing was.\n");
    return kExitOk;
  }

  static int TellKept(Context& context, const RemovedOutputs& removed) {
    int code = kExitOk;
    for (const base::Error& error : removed.failures) {
      const int failed = Fail(context, error);
      if (code == kExitOk) code = failed;
    }
    return code;
  }

  static std::string Counted(const RemovedOutputs& removed) {
    return Plural(static_cast<int64_t>(removed.listing.records.size()), "job") + " with " +
           Plural(removed.files, "file") + " (" + base::FormatBytes(removed.bytes) + ")";
  }

  static void SayLeft(Context& context, const RemovedOutputs& removed) {
    for (const std::string& left : removed.left) Say(context, left + "\n");
  }

  static int ShowOutputs(Context& context, Api& api, const std::vector<v1::JobView>& jobs) {
    const RemovedOutputs removed = RemoveWithOutputs(api, jobs, /*look_only=*/true);
    if (!context.for_people()) {
      Print(context, removed.listing);
      return TellKept(context, removed);
    }
    if (!removed.listing.records.empty()) {
      const TableLayout& layout = context.surroundings.out_terminal.layout;
      Say(context, removed.listing.table.Render(layout) + "\n");
    }
    SayLeft(context, removed);
    Say(context, "Dry run: " + Counted(removed) + " would be removed, and nothing was.\n");
    return TellKept(context, removed);
  }

  static int RemoveOutputs(Context& context, Api& api, const std::vector<v1::JobView>& jobs) {
    const RemovedOutputs removed = RemoveWithOutputs(api, jobs, /*look_only=*/false);
    if (!context.for_people()) {
      Print(context, removed.listing);
      return TellKept(context, removed);
    }
    SayLeft(context, removed);
    Say(context, "Removed " + Counted(removed) + ".\n");
    return TellKept(context, removed);
  }

  // A few at a time. What was removed before an error is told too.
  int Remove(Context& context, Api& api, const std::vector<v1::JobView>& jobs) const {
    Listing removed{.collection = "jobs",
                    .table = TextTable({{"ID"}, {.header = "NAME", .cut = true}})};
    base::Status status = base::Ok{};
    for (size_t first = 0; first < jobs.size() && status.ok(); first += kAtOnce) {
      v1::RemoveRequest request;
      for (size_t i = first; i < std::min(first + kAtOnce, jobs.size()); ++i)
        request.add_jobs(jobs[i].id());
      const base::Result<v1::RemoveResponse> response = api.Remove(request);
      if (!response.ok()) {
        status = response.error();
        break;
      }
      for (const v1::SubmittedJob& job : response->jobs()) {
        removed.records.push_back({{"id", job.id()}, {"name", job.name()}});
        removed.table.AddRow({job.id(), job.name()});
      }
    }
    if (!context.for_people()) {
      Print(context, removed);
    } else {
      Say(context,
          "Removed " + Plural(static_cast<int64_t>(removed.records.size()), "job") + ".\n");
    }
    return status.ok() ? kExitOk : Fail(context, status.error());
  }

  std::vector<std::string> jobs_;
  JobFilter filter_;
  std::optional<int64_t> older_seconds_;
  bool outputs_ = false, dry_run_ = false, sure_ = false;
};

}  // namespace

std::unique_ptr<Verb> MakeRm() { return std::make_unique<Rm>(); }

}  // namespace trainctl::client
