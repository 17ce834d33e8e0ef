#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "client/exit_code.h"
#include "client/naming.h"
#include "client/new_file.h"
#include "client/plot/drawn_plot.h"
#include "client/plot/picture_file.h"
#include "client/plot/read_curves.h"
#include "client/plot/svg.h"
#include "client/plot/terminal_plot.h"
#include "client/show/decoded.h"
#include "client/show/format.h"
#include "client/show/job_text.h"
#include "client/show/metric_names.h"
#include "client/verbs/verb.h"

namespace trainctl::client {
namespace {

constexpr std::string_view kGraphics[] = {"auto", "kitty", "sixel", "none"};
constexpr size_t kMostCurves = 24;
constexpr int kWidthUnknown = 100;
constexpr int64_t kHeight = 20, kTallest = 200;

// They are drawn on one axis.
base::Status CheckUnits(const std::vector<job::Metric>& metrics) {
  for (const job::Metric metric : metrics) {
    if (job::Info(metric).unit == job::Info(metrics.front()).unit) continue;
    return base::Error{base::Code::kInvalid,
                       std::string(job::Name(metrics.front())) + " and " +
                           std::string(job::Name(metric)) +
                           " have different units: plot them one after the other"};
  }
  return base::Ok{};
}

Json CurvesJson(const Plot& plot) {
  Json curves = Json::array();
  for (const Curve& curve : plot.curves) {
    Json points = Json::array(), not_finite = Json::array();
    for (const Sample& sample : curve.samples) points.push_back({sample.x, sample.y});
    for (const Sample& sample : curve.not_finite) not_finite.push_back(sample.x);
    curves.push_back({{"label", curve.label}, {"points", points}, {"not_finite", not_finite}});
  }
  return {{"title", plot.title},
          {"unit", plot.unit},
          {"x", plot.over_time ? "seconds" : "step"},
          {"curves", curves}};
}

class PlotVerb : public Verb {
 public:
  void Declare(Arguments& arguments) override {
    arguments.Positionals("JOB", &jobs_, "ids or names of jobs and groups", /*required=*/true);
    arguments.Text("--metric", "NAME,…", &metric_, "what to draw; else the training loss");
    arguments.Number("--rank", "N", &rank_, "of a metric that each rank has: only this rank's");
    arguments.Switch("--time", &over_time_, "over the time since each job's start, not the step");
    arguments.Switch("--log", &log_, "by the logarithm of the value");
    arguments.Number("--height", "LINES", &height_, "of the drawing in the terminal; else 20",
                     kLowestPlot, kTallest);
    arguments.Text(
        "--graphics", "HOW", &graphics_,
        "auto: pixels where the terminal says that it shows them; kitty or sixel: always; none: "
        "characters");
    arguments.Offers("--graphics", {std::begin(kGraphics), std::end(kGraphics)});
    arguments.Switch("--ascii", &ascii_, "no character but those of ASCII");
    arguments.Text("-o,--output", "FORMAT", &format_,
                   "table: drawn in the terminal; svg: a picture; json: all points; or a FILE.svg "
                   "or FILE.png");
    arguments.Switch("--overwrite", &overwrite_, "replace FILE");
    arguments.Remark(
        "-o json has the places of what is no number, such as a loss that diverged, in "
        "\"not_finite\". Its steps count from 0, as those of metrics.\n"
        "Curves that are longer than the drawing is wide keep the least and the largest of each "
        "column: no spike is lost.");
  }

  int Run(Context& context) override {
    const base::Result<Api*> api = NeedApi(context);
    if (!api.ok()) return Fail(context, api.error());
    const base::Result<std::vector<job::Metric>> metrics =
        ParseMetricNames(metric_.empty() ? std::string(job::Name(job::Metric::kLoss)) : metric_);
    if (!metrics.ok()) return Fail(context, metrics.error());
    if (const base::Status alike = CheckUnits(*metrics); !alike.ok())
      return Fail(context, alike.error());
    if (const base::Status usable = CheckFormat(); !usable.ok())
      return Fail(context, usable.error());
    if (const base::Status usable = CheckGraphics(); !usable.ok())
      return Fail(context, usable.error());
    Plot plot{.title = TitleOf(*metrics),
              .unit = std::string(job::Info(metrics->front()).unit),
              .over_time = over_time_,
              .log = log_};
    for (const std::string& word : jobs_) {
      const base::Status added = AddCurves(context, **api, word, *metrics, &plot);
      if (!added.ok()) return Fail(context, added.error());
    }
    if (plot.curves.empty() && !without_rank_.empty())
      return Fail(context, {base::Code::kNotFound, Join(without_rank_, "; ")});
    for (const std::string& text : without_rank_) context.err << "note: " << text << std::endl;
    if (const base::Status drawable = Check(plot); !drawable.ok())
      return Fail(context, drawable.error());
    if (IsFile()) return Write(context, plot);
    context.out << Drawn(context, plot) << std::flush;
    return kExitOk;
  }

 private:
  bool IsFile() const { return format_.ends_with(".svg") || format_.ends_with(".png"); }

  base::Status CheckFormat() const {
    if (IsFile()) return CheckNewFile(format_, overwrite_);
    if (format_.empty() || format_ == "table" || format_ == "svg" || format_ == "json")
      return base::Ok{};
    return base::Error{
        base::Code::kInvalid,
        "-o " + format_ + ": expected table, svg, json, or a file that ends in .svg or .png"};
  }

  bool asks_for_pixels() const { return graphics_ == "kitty" || graphics_ == "sixel"; }

  base::Status CheckGraphics() const {
    const std::string option = "--graphics " + graphics_;
    if (std::ranges::count(kGraphics, graphics_) == 0)
      return base::Error{base::Code::kInvalid, option + ": expected auto, kitty, sixel or none"};
    if (asks_for_pixels() && ascii_)
      return base::Error{base::Code::kInvalid, option + " draws pixels: expected no --ascii"};
    if (asks_for_pixels() && !format_.empty() && format_ != "table") {
      return base::Error{base::Code::kInvalid,
                         option + " is of the drawing in the terminal: expected no -o " + format_};
    }
    return base::Ok{};
  }

  int Write(Context& context, const Plot& plot) const {
    const base::Status written = drawn::WritePicture(drawn::DrawingOf(plot), format_, overwrite_);
    if (!written.ok()) return Fail(context, written.error());
    context.err << "Wrote " << format_ << ": " << plot.title << "." << std::endl;
    return kExitOk;
  }

  base::Status AddCurves(Context& context, Api& api, const std::string& word,
                         const std::vector<job::Metric>& metrics, Plot* plot) {
    const base::Result<v1::GetResponse> jobs = GetJobs(context, NewestMeant(context, word));
    if (!jobs.ok()) return jobs.error();
    for (const v1::JobDetail& detail : jobs->jobs()) {
      const v1::JobView& view = detail.view();
      if (!drawn_.insert(view.id()).second) {
        context.err << "note: " << view.name() << " (" << view.id()
                    << ") is named more than once, and stands once" << std::endl;
        continue;
      }
      if (const std::string no_rank = rank_ ? NoRankText(view, *rank_) : ""; !no_rank.empty()) {
        without_rank_.push_back(no_rank);
        continue;
      }
      base::Result<std::vector<Curve>> curves =
          ReadCurves(api, view, {.metrics = metrics, .rank = rank_, .over_time = over_time_});
      if (!curves.ok()) return curves.error();
      if (curves->empty()) {
        context.err << "note: " << view.name() << " (" << view.id() << ") has no points of "
                    << plot->title << (HasEnded(view) ? "" : " yet") << std::endl;
      }
      for (Curve& curve : *curves) plot->curves.push_back(std::move(curve));
    }
    return base::Ok{};
  }

  base::Status Check(const Plot& plot) const {
    if (plot.curves.empty()) return base::Error{base::Code::kNotFound, "there is nothing to draw"};
    if (plot.curves.size() > kMostCurves) {
      return base::Error{base::Code::kInvalid,
                         std::to_string(plot.curves.size()) + " curves: expected at most " +
                             std::to_string(kMostCurves) + "; --rank N draws one rank's"};
    }
    const auto has_positive = [](const Curve& curve) {
      return std::ranges::any_of(curve.samples, [](const Sample& s) { return s.y > 0; });
    };
    if (plot.log && std::ranges::none_of(plot.curves, has_positive))
      return base::Error{base::Code::kInvalid, "--log: no value is above 0"};
    return base::Ok{};
  }

  std::string Drawn(const Context& context, const Plot& plot) const {
    if (format_ == "svg") return drawn::SvgOf(drawn::DrawingOf(plot));
    if (format_ == "json") return RenderDocument(CurvesJson(plot));
    const Terminal& terminal = context.surroundings.out_terminal;
    TerminalPlotOptions options{
        .width = terminal.layout.width > 0 ? terminal.layout.width : kWidthUnknown,
        .height = static_cast<int>(height_.value_or(kHeight)),
        .colour = terminal.layout.colour,
        .unicode = terminal.unicode && !ascii_};
    options.graphics = GraphicsFor(context, options.height);
    if (terminal.cell_width > 0) options.cell_width = terminal.cell_width;
    if (terminal.cell_height > 0) options.cell_height = terminal.cell_height;
    return TerminalPlot(plot, options);
  }

  Graphics GraphicsFor(const Context& context, int height) const {
    const Terminal& terminal = context.surroundings.out_terminal;
    const bool is_lower = terminal.height > 0 && height + 2 >= terminal.height;
    if (asks_for_pixels() && is_lower) {
      context.err << "note: drawn with characters: the terminal is too low for " << graphics_
                  << " pixels of " << height << " lines" << std::endl;
    }
    if (ascii_ || is_lower || graphics_ == "none") return Graphics::kCharacters;
    if (graphics_ == "kitty") return Graphics::kKitty;
    if (graphics_ == "sixel") return Graphics::kSixel;
    if (terminal.height <= 0 || !terminal.layout.colour) return Graphics::kCharacters;
    if (terminal.pictures) return Graphics::kKitty;
    const bool is_measured = terminal.cell_width > 0 && terminal.cell_height > 0;
    const bool may_be_asked = terminal.is_terminal && terminal.interactive && is_measured;
    const auto& shows_sixels = context.surroundings.shows_sixels;
    if (!may_be_asked || !shows_sixels) return Graphics::kCharacters;
    const std::optional<bool> shown = shows_sixels();
    if (!shown) {
      context.err << "note: drawn with characters: the terminal did not say whether it shows "
                     "pixels (--graphics none does not ask)"
                  << std::endl;
    }
    return shown.value_or(false) ? Graphics::kSixel : Graphics::kCharacters;
  }

  std::vector<std::string> jobs_;
  std::vector<std::string> without_rank_;  // why jobs are left out
  std::set<std::string> drawn_;            // ids
  std::string metric_, format_, graphics_ = "auto";
  std::optional<int64_t> rank_, height_;
  bool over_time_ = false, log_ = false, ascii_ = false, overwrite_ = false;
};

}  // namespace

std::unique_ptr<Verb> MakePlot() { return std::make_unique<PlotVerb>(); }

}  // namespace trainctl::client
