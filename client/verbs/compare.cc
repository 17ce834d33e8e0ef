#include <algorithm>

#include "client/exit_code.h"
#include "client/naming.h"
#include "client/new_file.h"
#include "client/page_file.h"
#include "client/plot/drawn_bars.h"
#include "client/plot/picture_file.h"
#include "client/plot/svg.h"
#include "client/report/comparison_bars.h"
#include "client/report/run_report.h"
#include "client/show/calendar_time.h"
#include "client/show/comparison.h"
#include "client/show/format.h"
#include "client/show/transposed_comparison.h"
#include "client/verbs/verb.h"

namespace trainctl::client {
namespace {

class Compare : public Verb {
 public:
  void Declare(Arguments& arguments) override {
    arguments.Positionals("JOB", &jobs_, "ids or names of jobs and groups; none: the latest group",
                          /*required=*/false);
    arguments.Text("--base", "JOB", &base_,
                   "the job the others are measured against; else the first");
    arguments.Text("--only", "KEY,…", &only_,
                   "only these rows, by their keys in -o json or by section: time, memory, loss");
    arguments.Switch("--transpose", &transpose_,
                     "a row a job; without it where the terminal is too narrow for a column a job");
    arguments.Switch("--no-transpose", &no_transpose_, "a column a job, however narrow it is");
    arguments.Text("-o,--output", "FORMAT", &output_,
                   std::string(kOutputFormats) +
                       ", html: a page, svg: bars; or a FILE.html, .pdf, .svg or .png");
    arguments.Switch("--overwrite", &overwrite_, "replace FILE");
    arguments.Remark(
        "--transpose is of tables, md, csv and jsonl; json is the same either way.\n"
        "Long names end in … in a terminal; -o json and -o md have them whole.");
  }

  int Run(Context& context) override {
    const base::Result<Api*> api = NeedApi(context);
    if (!api.ok()) return Fail(context, api.error());
    if (const base::Status usable = TakeOutput(context); !usable.ok())
      return Fail(context, usable.error());
    if (transpose_ && no_transpose_) {
      return Fail(context,
                  {base::Code::kInvalid, "--transpose and --no-transpose: expected one of them"});
    }
    jobs_ = NewestMeant(context, jobs_);
    base_ = NewestMeant(context, base_);
    v1::CompareRequest request;
    for (const std::string& job : jobs_) request.add_jobs(job);
    request.set_base(base_);
    base::Result<v1::CompareResponse> response = (*api)->Compare(request);
    if (!response.ok()) return Fail(context, response.error());
    if (const base::Status whole = CheckWhole(*response); !whole.ok())
      return Fail(context, whole.error());
    const std::vector<std::string> keys = Split(only_, ',');
    if (!keys.empty()) {
      const base::Result<std::vector<std::string>> missing = KeepRows(keys, &*response);
      if (!missing.ok()) return Fail(context, missing.error());
      if (!missing->empty()) {
        context.err << "note: no run has a value yet of " << Join(*missing, ", ") << std::endl;
      }
    }
    NoteNamedTwice(context, *response);
    return drawn_.empty() ? Show(context, *response) : Draw(context, *response);
  }

 private:
  // What -o asks for: a format of tables, or a picture or page, printed or in a file.
  base::Status TakeOutput(Context& context) {
    if (output_.empty()) return base::Ok{};
    if (const std::optional<OutputFormat> format = ParseOutputFormat(output_)) {
      context.format = *format;
      return base::Ok{};
    }
    for (const std::string kind : {"html", "svg", "pdf", "png"}) {
      if (output_.ends_with("." + kind)) drawn_ = kind;
      if (output_ == kind && (kind == "html" || kind == "svg")) drawn_ = kind;
    }
    if (drawn_.empty()) {
      return base::Error{base::Code::kInvalid,
                         "-o " + output_ + ": expected one of " + std::string(kOutputFormats) +
                             ", html, svg, or a file that ends in .html, .pdf, .svg or .png"};
    }
    return output_ == drawn_ ? base::Ok{} : CheckNewFile(output_, overwrite_);
  }

  int Draw(Context& context, const v1::CompareResponse& response) const {
    const bool is_page = drawn_ == "html" || drawn_ == "pdf";
    const std::string origin = LocalMoment(context.clock().Wall()) + ", from " + context.server;
    const std::string page = is_page ? HtmlOf(ReportOn(response, origin)) : "";
    const drawn::Drawing drawing =
        is_page ? drawn::Drawing{}
                : drawn::DrawingOf("Comparison", ComparisonBars(response), NotesOf(response));
    if (output_ == drawn_) {
      context.out << (is_page ? page : drawn::SvgOf(drawing)) << std::flush;
      return kExitOk;
    }
    const base::Status written = is_page
                                     ? WritePage(context.surroundings, page, output_, overwrite_)
                                     : drawn::WritePicture(drawing, output_, overwrite_);
    if (!written.ok()) return Fail(context, written.error());
    context.err << "Wrote " << output_ << "." << std::endl;
    return kExitOk;
  }

  // By its name and by its id, say: it stands once, and people expect two.
  void NoteNamedTwice(Context& context, const v1::CompareResponse& response) const {
    for (const v1::ComparedJob& job : response.jobs()) {
      const auto names_it = [&](const std::string& word) {
        return word == job.id() || word == job.name();
      };
      if (std::ranges::count_if(jobs_, names_it) < 2) continue;
      context.err << "note: " << job.name() << " (" << job.id()
                  << ") is named more than once, and stands once" << std::endl;
    }
  }

  int BasePlace(const v1::CompareResponse& response) const {
    for (int i = 0; i < response.jobs_size(); ++i) {
      if (response.jobs(i).id() == base_ || response.jobs(i).name() == base_) return i;
    }
    return 0;
  }

  ComparisonView View(const v1::CompareResponse& response) const {
    ComparisonView view{.base = BasePlace(response)};
    if (transpose_ || no_transpose_) view.transposed = transpose_;
    return view;
  }

  int Show(Context& context, const v1::CompareResponse& response) const {
    switch (context.format) {
      case OutputFormat::kTable:
        context.out << ComparisonText(response, View(response),
                                      context.surroundings.out_terminal.layout);
        break;
      case OutputFormat::kMarkdown:
        context.out << ComparisonMarkdown(response, View(response));
        break;
      case OutputFormat::kJson: context.out << RenderDocument(ComparisonDocument(response)); break;
      case OutputFormat::kJsonl:
        for (const Json& record : transpose_ ? JobRecords(response) : RowRecords(response))
          context.out << RenderLine(record);
        break;
      case OutputFormat::kCsv:
        context.out << RenderCsv(transpose_ ? JobRecords(response) : FlatRecords(response));
        break;
      case OutputFormat::kName:
        for (const v1::ComparedJob& job : response.jobs()) context.out << job.id() << "\n";
        break;
    }
    context.out << std::flush;
    return kExitOk;
  }

  std::vector<std::string> jobs_;
  std::string base_, only_, output_;
  std::string drawn_;  // "html", "pdf", "svg" or "png"; empty: a table
  bool transpose_ = false, no_transpose_ = false, overwrite_ = false;
};

}  // namespace

std::unique_ptr<Verb> MakeCompare() { return std::make_unique<Compare>(); }

}  // namespace trainctl::client
