#include "client/submit/sweep_points.h"

#include <algorithm>
#include <set>
#include <utility>

#include "common/job/batch.h"
#include "common/job/check_job.h"

namespace trainctl::client {
namespace {

constexpr size_t kMostPoints = 256;
constexpr std::string_view kMicro = "train.micro_batch_size", kGlobal = "train.global_batch_size",
                           kAccumulation = "train.accumulate_grad_batches";

base::Error Invalid(std::string message) { return {base::Code::kInvalid, std::move(message)}; }

bool IsText(const std::string& key) {
  return key == "name" || key == "notes" || key.starts_with("tags");
}

bool Names(const std::vector<job::Override>& overrides, std::string_view key) {
  return std::any_of(overrides.begin(), overrides.end(),
                     [&](const job::Override& override_) { return override_.key == key; });
}

// "tiny-micro_batch_size-4": without what a name can't have.
std::string NameOf(const std::string& base, const std::vector<SweepAxis>& axes,
                   const std::vector<std::string>& values) {
  std::string suffix;
  for (size_t i = 0; i < axes.size(); ++i) {
    suffix += "-" + axes[i].key.substr(axes[i].key.rfind('.') + 1) + "-" +
              values[i].substr(values[i].rfind('/') + 1);
  }
  std::replace_if(
      suffix.begin(), suffix.end(),
      [](unsigned char c) { return c < 0x20 || c == '/' || c == ' ' || c == '"'; }, '_');
  suffix.resize(std::min(suffix.size(), job::kLongestName / 2));
  return base.substr(0, job::kLongestName - suffix.size()) + suffix;
}

base::Result<std::vector<SweepAxis>> FindAxes(const std::vector<job::Override>& overrides) {
  std::vector<SweepAxis> axes;
  size_t points = 1;
  for (const job::Override& override_ : overrides) {
    std::vector<std::string> values =
        IsText(override_.key) ? std::vector{override_.value} : SplitValues(override_.value);
    if (values.size() < 2) continue;
    if (std::set(values.begin(), values.end()).size() != values.size()) {
      return Invalid(override_.key + "=" + override_.value + ": a value stands twice");
    }
    if (std::any_of(axes.begin(), axes.end(),
                    [&](const SweepAxis& axis) { return axis.key == override_.key; })) {
      return Invalid(override_.key + " is varied twice: name its values once");
    }
    points *= values.size();
    if (points > kMostPoints)
      return Invalid("a sweep has at most " + std::to_string(kMostPoints) +
                     " points; this one has more");
    axes.push_back({override_.key, std::move(values)});
  }
  if (axes.empty())
    return Invalid(
        "nothing varies: give a setting several values, as in --set "
        "train.micro_batch_size=1,2,4,8");
  return axes;
}

// All combinations, the last axis fastest.
std::vector<std::vector<std::string>> Product(const std::vector<SweepAxis>& axes) {
  std::vector<std::vector<std::string>> product = {{}};
  for (const SweepAxis& axis : axes) {
    std::vector<std::vector<std::string>> longer;
    for (const std::vector<std::string>& values : product) {
      for (const std::string& value : axis.values) {
        longer.push_back(values);
        longer.back().push_back(value);
      }
    }
    product = std::move(longer);
  }
  return product;
}

// The overrides of one point: those of one value, and the point's.
std::vector<job::Override> OverridesOf(const JobFileOptions& options, const Sweep& sweep,
                                       const std::vector<std::string>& values) {
  std::vector<job::Override> overrides = options.overrides;
  for (size_t i = 0; i < sweep.axes.size(); ++i) {
    for (job::Override& override_ : overrides) {
      if (override_.key == sweep.axes[i].key) override_.value = values[i];
    }
  }
  return overrides;
}

// Where the file gives accumulation, or neither, another micro batch would change the global one.
base::Status KeepGlobalBatch(JobFileOptions* point) {
  if (Names(point->overrides, kGlobal) || Names(point->overrides, kAccumulation) ||
      !Names(point->overrides, kMicro))
    return base::Ok{};
  JobFileOptions own = *point;
  std::erase_if(own.overrides,
                [](const job::Override& override_) { return override_.key == kMicro; });
  const base::Result<JobFile> file = OpenJobFile(own);
  if (!file.ok()) return file.error();
  if (file->jobs.front().train.global_batch_size) return base::Ok{};
  const base::Result<job::BatchPlan> plan = job::PlanBatch(file->jobs.front());
  if (!plan.ok()) return plan.error();
  point->overrides.push_back({std::string(kGlobal), std::to_string(plan->global)});
  return base::Ok{};
}

bool Varies(const Sweep& sweep, std::string_view key) {
  return std::any_of(sweep.axes.begin(), sweep.axes.end(),
                     [&](const SweepAxis& axis) { return axis.key == key; });
}

base::Result<SweepPoint> ReadPoint(const JobFileOptions& options,
                                   const std::vector<std::string>& values, Sweep* sweep) {
  JobFileOptions point = options;
  point.overrides = OverridesOf(options, *sweep, values);
  point.name = NameOf(sweep->name, sweep->axes, values);
  if (Varies(*sweep, kMicro)) {
    if (const base::Status kept = KeepGlobalBatch(&point); !kept.ok()) return kept.error();
  }
  base::Result<JobFile> file = OpenJobFile(point);
  if (!file.ok()) {
    return Invalid(file.error().message + "\n  (in the sweep's " + point.name +
                   "; the global batch is kept unless " + std::string(kGlobal) + " or " +
                   std::string(kAccumulation) + " is given)");
  }
  for (const std::string& note : file->notes) {
    if (std::find(sweep->notes.begin(), sweep->notes.end(), note) == sweep->notes.end())
      sweep->notes.push_back(note);
  }
  if (!Varies(*sweep, "output.dir")) job::WriteUnderOwnName(&file->jobs.front());
  return SweepPoint{values, std::move(file->jobs.front())};
}

// The file with the first value of each axis: its name, and that it is one job.
base::Result<std::string> BaseName(const JobFileOptions& options, const Sweep& sweep,
                                   const std::vector<std::string>& values) {
  JobFileOptions base = options;
  base.overrides = OverridesOf(options, sweep, values);
  std::erase_if(base.overrides,
                [&](const job::Override& override_) { return Varies(sweep, override_.key); });
  const base::Result<JobFile> file = OpenJobFile(base);
  if (!file.ok()) return file.error();
  if (file->is_lab)
    return Invalid(options.path +
                   " is a lab file: sweep takes one job, such as one of its experiments");
  return file->jobs.front().name;
}

}  // namespace

std::vector<std::string> SplitValues(const std::string& text) {
  std::vector<std::string> values(1);
  int depth = 0;
  bool quoted = false;
  for (const char c : text) {
    if (c == '"') quoted = !quoted;
    if (!quoted && (c == '[' || c == '{')) ++depth;
    if (!quoted && (c == ']' || c == '}')) --depth;
    if (c == ',' && depth == 0 && !quoted) {
      values.emplace_back();
    } else {
      values.back() += c;
    }
  }
  return values;
}

base::Result<Sweep> PlanSweep(const JobFileOptions& options) {
  base::Result<std::vector<SweepAxis>> axes = FindAxes(options.overrides);
  if (!axes.ok()) return axes.error();
  Sweep sweep{.axes = std::move(*axes)};
  const std::vector<std::vector<std::string>> product = Product(sweep.axes);
  const base::Result<std::string> name = BaseName(options, sweep, product.front());
  if (!name.ok()) return name.error();
  sweep.name = *name;
  for (const std::vector<std::string>& values : product) {
    base::Result<SweepPoint> point = ReadPoint(options, values, &sweep);
    if (!point.ok()) return point.error();
    sweep.points.push_back(std::move(*point));
  }
  return sweep;
}

}  // namespace trainctl::client
