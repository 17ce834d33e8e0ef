#include <cstdlib>
#include <utility>

#include "client/exit_code.h"
#include "client/new_file.h"
#include "client/plot/drawn_ways.h"
#include "client/plot/picture_file.h"
#include "client/plot/svg.h"
#include "client/show/format.h"
#include "client/submit/advice.h"
#include "client/submit/job_file.h"
#include "client/submit/sweep_run.h"
#include "client/submit/within.h"
#include "client/verbs/verb.h"

namespace trainctl::client {
namespace {

constexpr int64_t kTrialSteps = 10;
constexpr int64_t kMostTried = 32, kMostTrialSteps = 10'000;
constexpr double kHighestPrice = 1e6;

// "2.50/GPUh" | "2.5".
base::Result<double> ParsePrice(const std::string& text) {
  char* end = nullptr;
  const double price = std::strtod(text.c_str(), &end);
  const std::string unit = end;
  if (end == text.c_str() || !(price >= 0 && price <= kHighestPrice) ||
      (!unit.empty() && unit != "/GPUh"))
    return base::Error{
        base::Code::kInvalid,
        "--price: '" + text +
            "': expected a number from 0 to 1,000,000 for one device and hour, as in 2.50/GPUh"};
  return price;
}

base::Result<std::set<advice::Liberty>> ParseLiberties(const std::string& text) {
  std::set<advice::Liberty> liberties;
  for (const std::string& name : Split(text, ',')) {
    const std::optional<advice::Liberty> liberty = advice::ParseLiberty(name);
    if (!liberty)
      return base::Error{base::Code::kInvalid, "--allow: '" + name + "': expected some of " +
                                                   std::string(advice::kLiberties)};
    liberties.insert(*liberty);
  }
  return liberties;
}

WayPoint PointOf(const advice::Way& way, std::string label) {
  return {way.time->total_seconds, static_cast<double>(way.peak_bytes()), std::move(label),
          way.is_measured()};
}

// The ways that are shown with what to type; the others that fit as small points; the job as it
// is.
WaysPicture PictureOf(const Advice& advice) {
  WaysPicture picture{.title = advice.job.name + " on " + std::to_string(advice.devices) + " × " +
                               advice.device_name,
                      .limit_bytes = static_cast<double>(advice.ways.asked.limit_bytes)};
  const auto add = [&picture](const advice::Way& way, std::string label) {
    if (way.time) picture.points.push_back(PointOf(way, std::move(label)));
  };
  for (const advice::Way& way : advice.ways.fitting) add(way, "");
  for (const advice::Way& way : advice.shown) {
    const std::string overrides = advice::OverridesOf(advice.job, way);
    add(way, overrides.empty() ? "(as the file has it)" : overrides);
  }
  if (advice.ways.asked.time) picture.asked = PointOf(advice.ways.asked, "");
  for (const LeftOut& one : advice.left_out) picture.remarks.push_back(TextOf(one));
  return picture;
}

class AdviseVerb : public Verb {
 public:
  void Declare(Arguments& arguments) override {
    arguments.Positional("FILE", &file_.path, "a job file");
    arguments.Text("--experiment", "NAME", &file_.experiment, "of a lab file: which one");
    arguments.Text(
        "--allow", "LIST", &allow_,
        "what may change although it changes what is learned: " + std::string(advice::kLiberties));
    arguments.Text("--price", "PRICE", &price_text_, "of one device and hour: 2.50/GPUh");
    arguments.Number("--try", "N", &tried_,
                     "run the first N for a few steps, one after the other, and show what was "
                     "measured",
                     /*least=*/1, kMostTried);
    arguments.Number("--steps", "N", &steps_, "of each way that is tried; default 10", /*least=*/1,
                     kMostTrialSteps);
    arguments.Needs("--steps", {"--try"});
    arguments.Switch("--all", &options_.all, "every way that fits, not the best ones only");
    arguments.Switch(
        "--by-kind", &options_.by_kind,
        "the peak by kind too: parameters, optimizer, …; other: all else at that moment");
    arguments.Text(
        "-o,--output", "FORMAT", &output_,
        std::string(kOutputFormats) + ", svg: time against memory; or a FILE.svg or FILE.png");
    arguments.Switch("--overwrite", &overwrite_, "replace FILE");
    arguments.Overrides(&file_.overrides, "override a setting first");
    arguments.Remark(
        "Each way trains the same: rows, steps, global batch and learning rate stay.\n"
        "Nothing runs without --try. With it, -o json and csv hold what was tried alone.\n"
        "Times come from earlier runs of the same shape, else from the device's rates, scaled by\n"
        "what the nearest of the measured ways took over what rates say of them.");
  }

  int Run(Context& context) override {
    if (const base::Status usable = TakeOutput(context); !usable.ok())
      return Fail(context, usable.error());
    const base::Result<job::JobSpec> job = ReadOne();
    if (!job.ok()) return Fail(context, job.error());
    base::Result<std::set<advice::Liberty>> liberties = ParseLiberties(allow_);
    if (!liberties.ok()) return Fail(context, liberties.error());
    options_.liberties = std::move(*liberties);
    if (!price_text_.empty()) {
      const base::Result<double> price = ParsePrice(price_text_);
      if (!price.ok()) return Fail(context, price.error());
      options_.price_per_device_hour = *price;
    }
    base::Result<Advice> advice = Advise(context, *job, options_);
    if (!advice.ok()) return Fail(context, advice.error());
    if (is_drawn_) return Draw(context, *advice);
    // A program reads one document: the ways that were tried, predicted beside measured.
    if (tried_ && !context.for_people()) return Try(context, *advice);
    Say(context, IntroductionOf(*advice));
    const int printed = Print(context, ListingOf(*advice));
    Say(context, RemarksOn(*advice, file_.path));
    return tried_ ? Try(context, *advice) : printed;
  }

 private:
  base::Result<job::JobSpec> ReadOne() const {
    base::Result<JobFile> file = OpenJobFile(file_);
    if (!file.ok()) return file.error();
    if (file->jobs.size() == 1) return file->jobs.front();
    std::vector<std::string> names;
    for (const job::JobSpec& job : file->jobs) names.push_back(job.name);
    return base::Error{
        base::Code::kInvalid,
        file_.path + " is a lab file: --experiment names one of " + Join(names, ", ")};
  }

  base::Status TakeOutput(Context& context) {
    if (output_.empty()) return base::Ok{};
    if (const std::optional<OutputFormat> format = ParseOutputFormat(output_)) {
      context.format = *format;
      return base::Ok{};
    }
    is_drawn_ = output_ == "svg" || output_.ends_with(".svg") || output_.ends_with(".png");
    if (!is_drawn_) {
      return base::Error{base::Code::kInvalid, "-o " + output_ + ": expected one of " +
                                                   std::string(kOutputFormats) +
                                                   ", svg, or a file that ends in .svg or .png"};
    }
    if (tried_) {
      return base::Error{base::Code::kInvalid,
                         "-o " + output_ + " draws predictions: expected it without --try"};
    }
    return output_ == "svg" ? base::Ok{} : CheckNewFile(output_, overwrite_);
  }

  int Draw(Context& context, const Advice& advice) const {
    const WaysPicture ways = PictureOf(advice);
    if (ways.points.empty()) {
      return Fail(context, {base::Code::kNotFound,
                            "there is nothing to draw: no way that fits has a predicted time"});
    }
    const drawn::Drawing drawing = drawn::DrawingOf(ways);
    if (output_ == "svg") {
      context.out << drawn::SvgOf(drawing) << std::flush;
      return kExitOk;
    }
    const base::Status written = drawn::WritePicture(drawing, output_, overwrite_);
    if (!written.ok()) return Fail(context, written.error());
    context.err << "Wrote " << output_ << ": " << ways.title << "." << std::endl;
    return kExitOk;
  }

  // Neither evaluates nor keeps anything: it is the time and memory of steps that is looked for.
  int Try(Context& context, const Advice& advice) const {
    const base::Result<Api*> api = NeedApi(context);
    if (!api.ok()) return Fail(context, api.error());
    const Sweep sweep = TrialOf(advice, static_cast<size_t>(*tried_), steps_.value_or(kTrialSteps));
    SubmitOptions options = {.source = file_.path, .wait = true, .max_parallel = 1};
    std::vector<job::JobSpec> jobs = FileOf(sweep).jobs;
    const auto lease = FindWithin(context, &jobs, &options);
    if (!lease.ok()) return Fail(context, lease.error());
    SweepRun run(context, **api, sweep, options);
    if (const base::Status assessed = run.Assess(*lease); !assessed.ok())
      return Fail(context, assessed.error());
    return run.SubmitGroup();
  }

  JobFileOptions file_;
  AdviceOptions options_;
  std::optional<int64_t> tried_, steps_;
  std::string allow_, price_text_, output_;
  bool is_drawn_ = false, overwrite_ = false;
};

}  // namespace

std::unique_ptr<Verb> MakeAdvise() { return std::make_unique<AdviseVerb>(); }

}  // namespace trainctl::client
