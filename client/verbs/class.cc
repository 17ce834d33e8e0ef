#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "client/exit_code.h"
#include "client/shipped_files.h"
#include "client/show/comparison.h"
#include "client/show/format.h"
#include "client/show/job_listing.h"
#include "client/show/reference_results.h"
#include "client/submit/job_file.h"
#include "client/submit/lab_runs.h"
#include "client/verbs/verb.h"
#include "common/base/file.h"
#include "common/rank/metric.h"

namespace trainctl::client {
namespace {

constexpr size_t kMostBytes = 64 << 20;
constexpr size_t kJobsACall = 500;  // of a comparison

struct ClassColumn {
  job::Metric metric;
  const char* header;
  bool of_whole_run;  // says something beside a reference that trained as much only
  int goes;           // see TextColumn
};
constexpr ClassColumn kNumbers[] = {{job::Metric::kTimeSeconds, "TIME", true, 0},
                                    {job::Metric::kMemoryPeakAllocated, "PEAK", false, 1},
                                    {job::Metric::kStepSeconds, "S/STEP", false, 3},
                                    {job::Metric::kTokensPerSecond, "TOKENS/S", true, 4},
                                    {job::Metric::kLoss, "LOSS", true, 0},
                                    {job::Metric::kValLoss, "VAL LOSS", true, 2}};

// Of a job.
struct Measured {
  std::string device_name;                             // empty: not known
  std::map<std::string, double, std::less<>> numbers;  // by the metric's name

  std::optional<double> Number(std::string_view key) const {
    const auto number = numbers.find(key);
    return number == numbers.end() ? std::nullopt : std::optional(number->second);
  }
};
using MeasuredById = std::map<std::string, Measured>;

constexpr const char* kElsewhere = "†";  // in place of a ratio

// "anna", "# who audits" and "bob,carol" on a line each.
std::vector<std::string> UsersIn(const std::string& text) {
  std::vector<std::string> users;
  for (std::string line : Split(text, '\n')) {
    line = line.substr(0, line.find('#'));
    std::ranges::replace_if(line, [](unsigned char c) { return std::isspace(c) != 0; }, ',');
    for (const std::string& user : Split(line, ',')) {
      if (!user.empty() && std::ranges::find(users, user) == users.end()) users.push_back(user);
    }
  }
  return users;
}

Json NameOrNull(const std::string& name) { return name.empty() ? Json() : Json(name); }

class Class : public Verb {
 public:
  void Declare(Arguments& arguments) override {
    arguments.Positional("LAB", &lab_, "the lab file, or a job file of one experiment");
    arguments.Text("--users", "NAME,…", &users_, "who; else all who have run one of them");
    arguments.Text("--users-file", "FILE", &users_file_, "the same, a name a line");
    arguments.Text("--reference", "DIR", &reference_,
                   "results to measure against: what trainctl export wrote of a run of this lab, "
                   "or its comparison.json; h200 or h100: of short runs of the shipped labs there");
    arguments.Remark(
        "A line for each user and experiment, run or not; -o csv is for a grade book. A run is of "
        "a job with the experiment's name.\n"
        "Of several it is the newest that ended as it should with the lab's settings, which alone "
        "is done; else one with others, which CHANGED tells.\n"
        "One that was resumed is the run of all its jobs, \"j5 after j2\": TIME is theirs, losses "
        "and rates are the last one's.\n"
        "×REF: the number, divided by the reference's. S/STEP is the median; of time, tokens/s and "
        "losses there is a ratio only where both trained as many samples.\n"
        "†: none of time, S/STEP and tokens/s, for the run was on another device than the "
        "reference's.");
  }

  int Run(Context& context) override {
    const base::Result<JobFile> lab = OpenJobFile({.path = lab_});
    if (!lab.ok()) return Fail(context, lab.error());
    const base::Result<std::vector<std::string>> users = TakeUsers();
    if (!users.ok()) return Fail(context, users.error());
    if (const base::Status read = ReadReference(context.surroundings); !read.ok())
      return Fail(context, read.error());
    WarnOfStrangers(context, lab->jobs);
    const base::Result<Api*> api = NeedApi(context);
    if (!api.ok()) return Fail(context, api.error());
    const base::Result<std::vector<LabRun>> runs = FindLabRuns(**api, lab->jobs, *users);
    if (!runs.ok()) return Fail(context, runs.error());
    const base::Result<MeasuredById> measured = Measure(**api, *runs);
    if (!measured.ok()) return Fail(context, measured.error());
    if (context.for_people() && runs->empty()) {
      Say(context, "nobody has run an experiment of " + lab_ + " here\n");
      return kExitOk;
    }
    return Print(context, *runs, *measured);
  }

 private:
  base::Result<std::vector<std::string>> TakeUsers() const {
    if (users_file_.empty()) return UsersIn(users_);
    const base::Result<std::string> text = base::ReadFile(users_file_, kMostBytes);
    if (!text.ok()) return text.error();
    std::vector<std::string> users = UsersIn(users_ + "\n" + *text);
    if (!users.empty()) return users;
    return base::Error{base::Code::kInvalid, users_file_ + ": expected a user's name a line"};
  }

  // A folder's comparison, a file, or those of a shipped folder by its name.
  static std::vector<std::string> ReferenceFiles(const Surroundings& surroundings,
                                                 const std::string& named) {
    std::error_code error;
    if (std::filesystem::is_directory(named, error)) return {named + "/comparison.json"};
    const bool is_name = named.find_first_of("./") == std::string::npos;
    if (!is_name || std::filesystem::exists(named, error)) return {named};
    const base::Result<std::string> shipped = FindShipped(surroundings, "reference/" + named);
    std::vector<std::string> files;
    if (shipped.ok()) {
      for (const auto& entry : std::filesystem::directory_iterator(*shipped, error))
        files.push_back(entry.path());
    }
    return files.empty() ? std::vector{named} : files;
  }

  base::Status ReadReference(const Surroundings& surroundings) {
    if (reference_.empty()) return base::Ok{};
    results_.emplace();
    for (const std::string& file : ReferenceFiles(surroundings, reference_)) {
      const base::Result<std::string> text = base::ReadFile(file, kMostBytes);
      if (!text.ok()) return text.error();
      if (const base::Status added = results_->Add(*text, file); !added.ok()) return added;
    }
    return base::Ok{};
  }

  // Experiments without numbers to measure against.
  void WarnOfStrangers(Context& context, const std::vector<job::JobSpec>& experiments) const {
    if (!results_) return;
    std::vector<std::string> strangers;
    for (const job::JobSpec& job : experiments) {
      if (!results_->Has(job.name)) strangers.push_back(job.name);
    }
    if (strangers.empty()) return;
    const bool all = strangers.size() == experiments.size();
    Warn(context, "--reference " + reference_ + " has " +
                      (all ? "no experiment" : "not all experiments") + " of " + lab_ +
                      ": nothing is measured against it of " + Join(strangers, ", "));
  }

  static base::Result<MeasuredById> Measure(Api& api, const std::vector<LabRun>& runs) {
    MeasuredById measured;
    std::vector<std::string> ids;
    for (const LabRun& run : runs) {
      if (run.job) ids.push_back(run.job->id());
      ids.insert(ids.end(), run.earlier.begin(), run.earlier.end());
    }
    for (size_t first = 0; first < ids.size(); first += kJobsACall) {
      v1::CompareRequest request;
      for (size_t i = first; i < std::min(ids.size(), first + kJobsACall); ++i)
        request.add_jobs(ids[i]);
      const base::Result<v1::CompareResponse> response = api.Compare(request);
      if (!response.ok()) return response.error();
      if (const base::Status whole = CheckWhole(*response); !whole.ok()) return whole.error();
      for (int i = 0; i < response->jobs_size(); ++i) {
        Measured& job = measured[response->jobs(i).id()];
        job.device_name = response->jobs(i).device_name();
        for (const v1::CompareRow& row : response->rows()) {
          if (row.values(i).has_number()) job.numbers[row.key()] = row.values(i).number();
        }
      }
    }
    return measured;
  }

  // Empty where it was not run. What is a total is that of all its parts, all else of the last one.
  static Measured Of(const LabRun& run, const MeasuredById& measured) {
    const auto found = run.job ? measured.find(run.job->id()) : measured.end();
    if (found == measured.end()) return {};
    Measured whole = found->second;
    for (const std::string& id : run.earlier) {
      const auto part = measured.find(id);
      if (part != measured.end()) AddPart(part->second, &whole);
    }
    return whole;
  }

  static void AddPart(const Measured& part, Measured* whole) {
    for (const auto& [key, number] : part.numbers) {
      const job::MetricInfo* metric = job::FindMetric(key);
      if (metric != nullptr && metric->reduction == job::Reduction::kTotal)
        whole->numbers[key] += number;
    }
    if (!part.device_name.empty() && whole->device_name.find(part.device_name) == std::string::npos)
      whole->device_name += ", " + part.device_name;
  }

  // "j5 after j2".
  static std::string JobText(const LabRun& run) {
    if (!run.job) return "";
    return run.job->id() + (run.earlier.empty() ? "" : " after " + Join(run.earlier, ", "));
  }

  // Which columns stand behind the numbers.
  struct Remarks {
    bool some_changed = false;
    bool some_without_reference = false;
  };
  Remarks RemarksOn(const std::vector<LabRun>& runs) const {
    return {std::ranges::any_of(runs, [](const LabRun& run) { return !run.changed.empty(); }),
            results_ && std::ranges::any_of(runs, [this](const LabRun& run) {
              return !results_->Has(run.experiment);
            })};
  }

  std::vector<TextColumn> Columns(const Remarks& remarks) const {
    std::vector<TextColumn> columns = {
        {"USER"}, {.header = "EXPERIMENT", .cut = true}, {"JOB"}, {"OUTCOME"}, {"RUNS", true}};
    for (const ClassColumn& column : kNumbers) {
      columns.push_back({.header = column.header, .right = true, .goes = column.goes});
      if (results_) columns.push_back({.header = "×REF", .right = true, .goes = column.goes});
    }
    if (remarks.some_without_reference) columns.push_back({"REFERENCE"});
    if (remarks.some_changed) columns.push_back({"CHANGED"});
    return columns;
  }

  bool TrainedAsMuch(const LabRun& run, const Measured& measured) const {
    const std::string_view key = job::Info(job::Metric::kSamples).name;
    const std::optional<double> samples = measured.Number(key);
    return samples && samples == results_->Number(run.experiment, key);
  }

  // On another device than the reference, as far as both are known.
  bool RanElsewhere(const LabRun& run, const Measured& measured) const {
    const std::string reference = results_ ? results_->DeviceName(run.experiment) : "";
    return !reference.empty() && !measured.device_name.empty() && reference != measured.device_name;
  }

  // Cells and members of one number.
  void AddNumber(const LabRun& run, const Measured& measured, const ClassColumn& column,
                 std::vector<TextCell>* cells, Json* record) const {
    const job::MetricInfo& info = job::Info(column.metric);
    const std::string key(info.name);
    const std::optional<double> number = measured.Number(key);
    (*record)[key] = number ? Json(*number) : Json();
    const bool has_unit_above = column.metric == job::Metric::kTokensPerSecond;
    cells->emplace_back(number ? FormatWithUnit(*number, has_unit_above ? "" : info.unit) : "");
    if (!results_) return;
    const std::optional<double> reference = results_->Number(run.experiment, key);
    const bool has_both = number && reference && *reference != 0 &&
                          (!column.of_whole_run || TrainedAsMuch(run, measured));
    const bool is_of_other_device =
        info.section == job::MetricSection::kTime && RanElsewhere(run, measured);
    const bool has_ratio = has_both && !is_of_other_device;
    const double ratio = has_ratio ? *number / *reference : 0;
    (*record)[key + "_ratio"] = has_ratio ? Json(ratio) : Json();
    cells->emplace_back(has_ratio ? FormatNumber(ratio) + "×" : has_both ? kElsewhere : "");
  }

  void AddRow(const LabRun& run, const Measured& measured, const Remarks& remarks,
              Listing* listing) const {
    const v1::JobView* job = run.job ? &*run.job : nullptr;
    const std::string outcome = job == nullptr ? "" : job->outcome();
    const std::string state = job == nullptr ? "not run" : outcome.empty() ? job->state() : outcome;
    Json record = {{"user", run.user},
                   {"experiment", run.experiment},
                   {"job", job == nullptr ? Json() : Json(job->id())},
                   {"outcome", outcome.empty() ? Json() : Json(outcome)},
                   {"done", IsDone(run)},
                   {"runs", run.runs}};
    std::vector<TextCell> cells = {run.user,
                                   run.experiment,
                                   JobText(run),
                                   {state, job == nullptr ? Style::kFaint : OutcomeStyle(*job)},
                                   run.runs > 0 ? WithThousands(run.runs) : ""};
    for (const ClassColumn& column : kNumbers) AddNumber(run, measured, column, &cells, &record);
    record["device_name"] = NameOrNull(measured.device_name);
    if (results_) {
      const bool has_reference = results_->Has(run.experiment);
      record["reference_device_name"] = NameOrNull(results_->DeviceName(run.experiment));
      record["reference"] = has_reference ? Json(results_->Origin(run.experiment)) : Json();
      if (remarks.some_without_reference)
        cells.emplace_back(has_reference ? "" : "none", Style::kFaint);
    }
    record["earlier_jobs"] = Join(run.earlier, "; ");
    record["changed"] = Join(run.changed, "; ");
    if (remarks.some_changed) cells.emplace_back(Join(run.changed, "; "), Style::kWarning);
    listing->records.push_back(std::move(record));
    listing->table.AddRow(std::move(cells));
  }

  int Print(Context& context, const std::vector<LabRun>& runs, const MeasuredById& measured) const {
    const Remarks remarks = RemarksOn(runs);
    Listing listing{.collection = "runs", .table = TextTable(Columns(remarks)), .name_key = "job"};
    for (const LabRun& run : runs) AddRow(run, Of(run, measured), remarks, &listing);
    if (context.format == OutputFormat::kName)
      std::erase_if(listing.records, [](const Json& record) { return record["job"].is_null(); });
    const int code = client::Print(context, listing);
    if (!context.for_people()) return code;
    SayProgress(context, runs);
    if (results_) SayReference(context, runs, measured);
    return code;
  }

  // "×REF: against 2026-11-23 on NVIDIA H200, driver …"
  void SayReference(Context& context, const std::vector<LabRun>& runs,
                    const MeasuredById& measured) const {
    std::set<std::string> origins, devices;
    for (const LabRun& run : runs) {
      if (results_->Has(run.experiment)) origins.insert(results_->DescribedOrigin(run.experiment));
      if (RanElsewhere(run, Of(run, measured))) devices.insert(Of(run, measured).device_name);
    }
    if (origins.empty()) return;
    std::string text = "\n";
    for (const std::string& origin : origins) text += "×REF: against " + origin + "\n";
    if (!devices.empty()) {
      text += std::string(kElsewhere) +
              ": no ratio, for the time is of another device: " + Join(devices, ", ") + "\n";
    }
    Say(context, WrapLines(text, context.surroundings.out_terminal.layout.width));
  }

  // "anna: 2 of 4 done, 1 with other settings; remains: full, lora-8"
  static void SayProgress(Context& context, const std::vector<LabRun>& runs) {
    for (size_t begin = 0, end = 0; begin < runs.size(); begin = end) {
      LabProgress progress;
      std::vector<std::string> remaining;
      for (; end < runs.size() && runs[end].user == runs[begin].user; ++end) {
        progress.Add(runs[end]);
        if (!IsDone(runs[end])) remaining.push_back(runs[end].experiment);
      }
      Say(context, (begin == 0 ? "\n" : "") + runs[begin].user + ": " + ProgressText(progress) +
                       (remaining.empty() ? "" : "; remains: " + Join(remaining, ", ")) + "\n");
    }
  }

  std::string lab_, users_, users_file_, reference_;
  std::optional<ReferenceResults> results_;
};

}  // namespace

std::unique_ptr<Verb> MakeClass() { return std::make_unique<Class>(); }

}  // namespace trainctl::client
