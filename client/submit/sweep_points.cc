#include "client/submit/sweep_points.h"

#include <algorithm>
#include <utility>

#include "client/show/format.h"
#include "client/show/output.h"
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

// Of values that end alike (a/rows.json, b/rows.json) the names would too: such a name is numbered.
std::string OwnName(const std::string& name, const std::vector<SweepPoint>& others) {
  const auto is_taken = [&](const std::string& wanted) {
    return std::ranges::any_of(others,
                               [&](const SweepPoint& other) { return other.job.name == wanted; });
  };
  std::string own = name;
  for (int number = 2; is_taken(own); ++number) {
    const std::string ending = "-" + std::to_string(number);
    own = name.substr(0, job::kLongestName - ending.size()) + ending;
  }
  return own;
}

// As the setting has it: 1e-3 is 0.001, and 8.0 is 8.
bool IsEqual(const std::string& one, const std::string& other) {
  if (one == other) return true;
  const auto meant = [](const std::string& text) { return Json::parse(text, nullptr, false); };
  const Json first = meant(one), second = meant(other);
  return !first.is_discarded() && first == second;
}

// "1 stands twice", "1e-3 and 0.001 are the same"; empty: all differ.
std::string TwiceIn(const std::vector<std::string>& values) {
  for (auto value = values.begin(); value != values.end(); ++value) {
    const auto earlier = std::find_if(
        values.begin(), value, [&](const std::string& other) { return IsEqual(other, *value); });
    if (earlier == value) continue;
    return *earlier == *value ? *value + " stands twice"
                              : *earlier + " and " + *value + " are the same";
  }
  return "";
}

base::Status CheckAxis(const SweepAxis& axis, const std::vector<SweepAxis>& others,
                       const std::vector<job::Override>& overrides) {
  const std::string typed = axis.key + "=" + Join(axis.values, ",");
  if (axis.key == "name") {
    return Invalid(typed +
                   ": the jobs are named by what differs; --name says what their names "
                   "begin with");
  }
  if (std::ranges::count(axis.values, "") > 0) return Invalid(typed + ": a value is empty");
  if (const std::string twice = TwiceIn(axis.values); !twice.empty())
    return Invalid(typed + ": " + twice + "; name each value once");
  if (std::ranges::any_of(others, [&](const SweepAxis& other) { return other.key == axis.key; }))
    return Invalid(axis.key + " is varied twice: name its values once");
  if (Names(overrides, axis.key))
    return Invalid(axis.key + " is varied, and set to one value besides: name it once");
  return base::Ok{};
}

// A setting with one value in the matrix becomes one of the overrides.
base::Result<std::vector<SweepAxis>> FindAxes(const std::vector<job::Override>& matrix,
                                              std::vector<job::Override>* overrides) {
  std::vector<SweepAxis> axes;
  size_t points = 1;
  for (const job::Override& varied : matrix) {
    SweepAxis axis{varied.key, SplitValues(varied.value)};
    if (const base::Status checked = CheckAxis(axis, axes, *overrides); !checked.ok())
      return checked.error();
    if (axis.values.size() == 1) {
      overrides->push_back(varied);
      continue;
    }
    points *= axis.values.size();
    if (points > kMostPoints)
      return Invalid("a sweep has at most " + std::to_string(kMostPoints) +
                     " points; this one has more");
    axes.push_back(std::move(axis));
  }
  if (axes.empty())
    return Invalid(
        "nothing varies: give a setting several values, as in --matrix "
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

// Where the file gives accumulation, or neither, another micro batch would change the global one.
base::Status KeepGlobalBatch(const std::string& text, JobFileOptions* point) {
  if (Names(point->overrides, kGlobal) || Names(point->overrides, kAccumulation) ||
      !Names(point->overrides, kMicro))
    return base::Ok{};
  JobFileOptions own = *point;
  std::erase_if(own.overrides,
                [](const job::Override& override_) { return override_.key == kMicro; });
  const base::Result<JobFile> file = ReadJobText(text, own);
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

// "train.micro_batch_size=4, precision=bf16-true".
std::string AsTyped(const Variant& variant) {
  std::vector<std::string> settings;
  for (const job::Override& setting : variant)
    settings.push_back(setting.key + "=" + setting.value);
  return Join(settings, ", ");
}

Variant VariantOf(const Sweep& sweep, const std::vector<std::string>& values) {
  Variant variant;
  for (size_t i = 0; i < sweep.axes.size(); ++i) variant.push_back({sweep.axes[i].key, values[i]});
  return variant;
}

base::Result<SweepPoint> ReadPoint(const std::string& text, const JobFileOptions& options,
                                   const std::vector<std::string>& values, Sweep* sweep) {
  JobFileOptions point = options;
  const Variant variant = VariantOf(*sweep, values);
  point.overrides.insert(point.overrides.end(), variant.begin(), variant.end());
  point.name = OwnName(NameOf(sweep->name, sweep->axes, values), sweep->points);
  if (Varies(*sweep, kMicro)) {
    if (const base::Status kept = KeepGlobalBatch(text, &point); !kept.ok()) return kept.error();
  }
  base::Result<JobFile> file = ReadJobText(text, point);
  if (!file.ok()) {
    return Invalid(file.error().message + "\n  (in the sweep's " + point.name + ", with " +
                   AsTyped(variant) + "; the global batch is kept unless " + std::string(kGlobal) +
                   " or " + std::string(kAccumulation) + " is given)");
  }
  for (const std::string& note : file->notes) {
    if (std::find(sweep->notes.begin(), sweep->notes.end(), note) == sweep->notes.end())
      sweep->notes.push_back(note);
  }
  if (!Varies(*sweep, "output.dir")) job::WriteUnderOwnName(&file->jobs.front());
  return SweepPoint{values, std::move(file->jobs.front())};
}

// The file's own name, and that it is one job.
base::Result<std::string> BaseName(const std::string& text, const JobFileOptions& options) {
  const base::Result<JobFile> file = ReadJobText(text, options);
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

std::vector<job::Override> TakeAxes(std::vector<job::Override>* overrides) {
  const auto stays = [](const job::Override& override_) {
    return IsText(override_.key) || SplitValues(override_.value).size() < 2;
  };
  const auto axes = std::stable_partition(overrides->begin(), overrides->end(), stays);
  std::vector<job::Override> taken(axes, overrides->end());
  overrides->erase(axes, overrides->end());
  return taken;
}

base::Result<Sweep> PlanSweep(const std::string& text, const JobFileOptions& options,
                              const std::vector<job::Override>& matrix) {
  JobFileOptions base = options;
  base::Result<std::vector<SweepAxis>> axes = FindAxes(matrix, &base.overrides);
  if (!axes.ok()) return axes.error();
  const base::Result<std::string> name = BaseName(text, base);
  if (!name.ok()) return name.error();
  Sweep sweep{.name = *name, .axes = std::move(*axes)};
  for (const std::vector<std::string>& values : Product(sweep.axes)) {
    base::Result<SweepPoint> point = ReadPoint(text, base, values, &sweep);
    if (!point.ok()) return point.error();
    sweep.points.push_back(std::move(*point));
  }
  return sweep;
}

JobFile FileOf(const Sweep& sweep) {
  JobFile file{.is_lab = true, .group_name = sweep.name + "-sweep", .notes = sweep.notes};
  for (const SweepPoint& point : sweep.points) {
    file.jobs.push_back(point.job);
    file.variants.push_back(VariantOf(sweep, point.values));
  }
  return file;
}

}  // namespace trainctl::client
