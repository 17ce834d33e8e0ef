#include <algorithm>
#include <utility>

#include "client/exit_code.h"
#include "client/files/folder_draft.h"
#include "client/files/job_export.h"
#include "client/files/lab_file_text.h"
#include "client/files/run_again.h"
#include "client/files/tracker_exports.h"
#include "client/naming.h"
#include "client/show/calendar_time.h"
#include "client/show/comparison.h"
#include "client/show/decoded.h"
#include "client/show/format.h"
#include "client/show/job_text.h"
#include "client/verbs/verb.h"
#include "common/base/size.h"
#include "common/job/job_json.h"
#include "common/rank/metric.h"

namespace trainctl::client {
namespace {

constexpr char kIndex[] = "export.json";  // by which an earlier export is known

constexpr std::string_view kFilesOfAJob =
    "- `comparison.md`, `comparison.csv`, `comparison.json`: the run's numbers, as `trainctl "
    "compare` has them\n";
constexpr std::string_view kFilesOfEachJob =
    "- `report.md`: outcome, attempts, memory predicted and measured, events\n"
    "- `detail.json`: the same for programs\n"
    "- `memory.csv`: memory by kind and phase, predicted and measured, in bytes\n"
    "- `metrics.csv`, `metrics.jsonl`: the metric points that are kept, one a step and rank, of "
    "what is sampled the step's last; steps count from 0, times are seconds since the epoch, an "
    "empty rank is the whole gang\n"
    "- `logs/attempt-N/rank-R.log`: what the ranks wrote, as far as the coordinator kept it\n";

// How a file of this export runs again.
std::string RunAgain(const std::string& file, const v1::GetResponse& jobs) {
  const std::string command = RunAgainCommand(file, jobs);
  return "`" + command + "`" + (command.ends_with(" DIR") ? ", with a new DIR," : "");
}

std::string FilesText(const v1::GetResponse& jobs, bool is_group) {
  const std::string of_group =
      "- `comparison.md`, `comparison.csv`, `comparison.json`: the runs side by side\n"
      "- `lab.json`: all of them as one lab file; " +
      RunAgain("lab.json", jobs) +
      " runs them again\n"
      "- a folder for each job, with the files below\n";
  return (is_group ? of_group : std::string(kFilesOfAJob)) + "- `job.json`: the resolved job; " +
         RunAgain("job.json", jobs) +
         " runs it again (its paths are paths on the hosts it ran on)\n" +
         std::string(kFilesOfEachJob);
}

std::string JobsText(const v1::GetResponse& jobs, bool is_group) {
  TextTable table(
      {{"Job"}, {"Name"}, {"Outcome"}, {"Steps", true}, {"Peak allocated", true}, {"Why"}});
  for (const v1::JobDetail& detail : jobs.jobs()) {
    const v1::JobView& view = detail.view();
    TextCell job(view.id());
    job.link = (is_group ? FolderOf(view) + "/" : "") + "report.md";
    table.AddRow(
        {job, view.name(), view.outcome().empty() ? view.state() : view.outcome(),
         WithThousands(view.step()) + "/" + WithThousands(view.steps()),
         view.peak_allocated_bytes() > 0 ? base::FormatBytes(view.peak_allocated_bytes()) : "–",
         InLocalTime(view.outcome().empty() ? view.reason() : view.message())});
  }
  return table.Markdown();
}

// The rows of the comparison in which a prediction stands beside what was measured.
v1::CompareResponse Predictions(const v1::CompareResponse& comparison) {
  v1::CompareResponse found;
  *found.mutable_jobs() = comparison.jobs();
  for (const v1::CompareRow& row : comparison.rows()) {
    const job::MetricInfo* metric = job::FindMetric(row.key());
    const bool wanted = row.key() == "outcome" || row.key().starts_with("predicted") ||
                        (metric != nullptr && (metric->id == job::Metric::kTimeSeconds ||
                                               metric->id == job::Metric::kStepSeconds ||
                                               metric->id == job::Metric::kMemoryPeakAllocated));
    if (!wanted) continue;
    *found.add_rows() = row;
    found.mutable_rows()->rbegin()->set_section("");
  }
  return found;
}

class Export : public Verb {
 public:
  void Declare(Arguments& arguments) override {
    arguments.Positional("JOB", &job_, "id or name of a job or group");
    arguments.Positionals("DIR", &folders_, "a folder that is not there, or empty",
                          /*required=*/false);
    for (size_t i = 0; i < TrackerExports().size(); ++i) {
      const TrackerExport& kind = TrackerExports()[i];
      arguments.Text(std::string(kind.option), "DIR", &tracker_folders_[i], std::string(kind.help));
    }
    arguments.Switch("--overwrite", &overwrite_,
                     "take the place of an earlier export in DIR; nothing else is ever replaced");
    arguments.Remark(
        "Job files, metrics, logs of every rank, comparison, predictions and measurements, "
        "readable without the site; DIR/README.md says\n"
        "what is where. DIR appears when all of it is written. Models are not part of it: trainctl "
        "artifacts get.");
  }

  int Run(Context& context) override {
    const base::Result<std::string> folder = TakeFolder();
    if (!folder.ok()) return Fail(context, folder.error());
    const base::Result<Api*> api = NeedApi(context);
    if (!api.ok()) return Fail(context, api.error());
    const base::Result<v1::GetResponse> jobs = GetJobs(context, NewestMeant(context, job_));
    if (!jobs.ok()) return Fail(context, jobs.error());
    const base::Result<std::unique_ptr<FolderDraft>> draft =
        FolderDraft::Begin(*folder, overwrite_ ? kIndex : "");
    if (!draft.ok()) return Fail(context, WithAdvice(draft.error()));
    FolderDraft& filled = **draft;
    base::Status status = tracker_ == nullptr ? Fill(context, **api, *jobs, &filled)
                                              : FillTracker(context, **api, *jobs, &filled);
    if (status.ok()) status = filled.Commit();
    return status.ok() ? Report(context, *jobs, filled) : Fail(context, status.error());
  }

 private:
  // The one that is typed; of a tracker's option, tracker_ too.
  base::Result<std::string> TakeFolder() {
    std::vector<std::string> typed = folders_, ways = {"DIR"};
    for (size_t i = 0; i < TrackerExports().size(); ++i) {
      ways.push_back(std::string(TrackerExports()[i].option) + " DIR");
      if (tracker_folders_[i].empty()) continue;
      tracker_ = &TrackerExports()[i];
      typed.push_back(tracker_folders_[i]);
    }
    if (typed.size() == 1) return typed.front();
    return base::Error{base::Code::kInvalid, "export " + job_ + ": expected one folder, as " +
                                                 Join(ways, " or ") +
                                                 "; see: trainctl export --help"};
  }

  base::Error WithAdvice(base::Error error) const {
    if (error.code == base::Code::kConflict && !overwrite_)
      error.message += "; --overwrite replaces an earlier export";
    return error;
  }

  static base::Status Fill(Context& context, Api& api, const v1::GetResponse& jobs,
                           FolderDraft* draft) {
    v1::CompareRequest request;
    const bool is_group = !jobs.group().empty();
    request.add_jobs(is_group ? jobs.group() : jobs.jobs(0).view().id());
    const base::Result<v1::CompareResponse> comparison = api.Compare(request);
    if (!comparison.ok()) return comparison.error();
    if (const base::Status whole = CheckWhole(*comparison); !whole.ok()) return whole;
    for (const v1::JobDetail& detail : jobs.jobs()) {
      const base::Status exported =
          ExportJob(api, detail, is_group ? FolderOf(detail.view()) : "", draft);
      if (!exported.ok()) return exported;
    }
    if (is_group) {
      if (const base::Status lab = WriteLab(jobs, draft); !lab.ok()) return lab;
    }
    return WriteTop(context, jobs, *comparison, is_group, draft);
  }

  base::Status FillTracker(Context& context, Api& api, const v1::GetResponse& jobs,
                           FolderDraft* draft) const {
    const base::Status written = tracker_->write(api, jobs, draft);
    return written.ok() ? draft->Append(kIndex, IndexText(context, GroupOrJobText(jobs))) : written;
  }

  static std::string IndexText(Context& context, const std::string& title) {
    return RenderDocument(
        {{"exported", title}, {"at", UtcTime(context.clock().Wall())}, {"server", context.server}});
  }

  static base::Status WriteLab(const v1::GetResponse& jobs, FolderDraft* draft) {
    std::vector<job::JobSpec> specs;
    for (const v1::JobDetail& detail : jobs.jobs()) {
      const base::Result<job::JobSpec> spec = job::FromJson(detail.job_json());
      if (spec.ok()) specs.push_back(*spec);
    }
    return draft->Append("lab.json", LabFileText(specs));
  }

  static base::Status WriteTop(Context& context, const v1::GetResponse& jobs,
                               const v1::CompareResponse& comparison, bool is_group,
                               FolderDraft* draft) {
    const std::string title = GroupOrJobText(jobs);
    const std::string now = LocalMoment(context.clock().Wall());
    const std::pair<const char*, std::string> files[] = {
        {"comparison.md", "# " + title + "\n\n" + ComparisonMarkdown(comparison, {})},
        {"comparison.csv", RenderCsv(FlatRecords(comparison))},
        {"comparison.json", RenderDocument(ComparisonDocument(comparison))},
        {"README.md", "# " + title + "\n\nExported " + now + " from " + context.server + ".\n\n" +
                          JobsText(jobs, is_group) + "\n## Predicted and measured\n\n" +
                          ComparisonTable(Predictions(comparison)).Markdown() + "\n## Files\n\n" +
                          FilesText(jobs, is_group)},
        {kIndex, IndexText(context, title)},
    };
    for (const auto& [path, text] : files) {
      if (const base::Status written = draft->Append(path, text); !written.ok()) return written;
    }
    return base::Ok{};
  }

  int Report(Context& context, const v1::GetResponse& jobs, const FolderDraft& draft) const {
    Listing listing{
        .collection = "files", .table = TextTable({{"FILE"}, {"BYTES", true}}), .name_key = "path"};
    listing.members["folder"] = draft.folder();
    int64_t bytes = 0;
    for (const auto& [path, size] : draft.files()) {
      listing.records.push_back({{"path", path}, {"bytes", size}});
      listing.table.AddRow({path, WithThousands(size)});
      bytes += size;
    }
    if (!context.for_people()) return Print(context, listing);
    Say(context,
        "Exported " + Plural(jobs.jobs_size(), "job") + " to " + draft.folder() + ": " +
            std::to_string(draft.files().size()) + " files, " + base::FormatBytes(bytes) + ". " +
            (tracker_ == nullptr ? "Begin with README.md.\n"
                                 : "To see them: " + std::string(tracker_->viewer) +
                                       draft.folder() + std::string(tracker_->runs) + "\n"));
    for (const v1::JobDetail& detail : jobs.jobs()) {
      if (!HasEnded(detail.view()))
        Warn(context, detail.view().name() + " goes on: this is what was known of it now");
    }
    return kExitOk;
  }

  std::string job_;
  std::vector<std::string> folders_;
  std::vector<std::string> tracker_folders_ =
      std::vector<std::string>(TrackerExports().size());  // of each, as typed
  const TrackerExport* tracker_ = nullptr;                // the one that is asked for
  bool overwrite_ = false;
};

}  // namespace

std::unique_ptr<Verb> MakeExport() { return std::make_unique<Export>(); }

}  // namespace trainctl::client
