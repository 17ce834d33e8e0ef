#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "common/base/parse_number.h"
#include "common/base/size.h"
#include "common/job/batch.h"
#include "common/job/check_job.h"
#include "common/job/hub_id.h"
#include "common/job/job_json.h"
#include "server/compare/sections.h"

namespace trainctl::compare {
namespace {

using Setting = std::pair<std::string, std::string>;

// Words about a run rather than settings of it.
bool IsRemark(std::string_view key) {
  return key == "version" || key == "name" || key == "notes" || key == "expect" || key == "tags" ||
         key.starts_with("tags.");
}

// The strategy is the one that runs, where the file says auto. Which of global_batch_size and
// accumulate_grad_batches it names is a matter of taste; both are compared as they work out.
std::vector<Setting> ResolvedSettings(const job::JobSpec& job) {
  job::JobSpec resolved = job::ResolveJob(job);
  const base::Result<job::BatchPlan> batch = job::PlanBatch(job);
  if (batch.ok()) {
    resolved.train.global_batch_size = batch->global;
    resolved.train.accumulate_grad_batches = batch->accumulation;
  }
  std::vector<Setting> settings;
  for (Setting& setting : job::Flatten(resolved)) {
    if (!IsRemark(setting.first)) settings.push_back(std::move(setting));
  }
  return settings;
}

std::string_view UnitOf(std::string_view key) {
  if (key.ends_with("_bytes")) return "bytes";
  if (key.ends_with("_seconds")) return "s";
  return "";
}

Value SettingValue(const std::string& text) {
  Value value;
  if (text.empty() || text == "null") return value;
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (*end == '\0' && text.find_first_not_of("+-.0123456789eE") == std::string::npos) {
    value.value = number;
  } else {
    value.value = text;
  }
  return value;
}

// What the schema means by an empty list of targets.
std::string Worded(std::string_view key, const std::string& text) {
  return key == "lora.targets" && text == "[]" ? "all linear layers" : text;
}

// Of a key such as "lora" that some runs leave out, its parts say all.
bool HasParts(const std::string& key, const std::vector<std::string>& keys) {
  return std::any_of(keys.begin(), keys.end(),
                     [&](const std::string& other) { return other.starts_with(key + "."); });
}

std::string FileName(const std::string& path) {
  const size_t end = path.find_last_not_of('/');
  if (end == std::string::npos) return path;
  const size_t slash = path.find_last_of('/', end);
  const size_t begin = slash == std::string::npos ? 0 : slash + 1;
  return path.substr(begin, end + 1 - begin);
}

// Of a model of the hub its id, with the organisation; else the last part of the path.
std::string ModelName(const std::string& path) {
  if (job::IsHubId(path)) return path;
  const std::optional<job::HubSnapshot> snapshot = job::SnapshotOf(path);
  return snapshot ? snapshot->id : FileName(path);
}

std::string Count(const std::string& text) {
  const std::optional<int64_t> count = base::ParseNumber(text);
  return count ? base::WithThousands(*count) : text;
}

struct SameWord {
  std::string_view key;
  std::string_view before;                                    // put in front of the value
  std::string (*name_of)(const std::string& text) = nullptr;  // what people write for it
};

// In the order in which they are said. Other settings that are equal go without saying.
constexpr SameWord kSameWords[] = {
    {"model.path", "model ", ModelName},
    {"model.init", "weights "},
    {"data.path", "data ", FileName},
    {"precision", ""},
    {"strategy", "strategy "},
    {"devices", "devices "},
    {"engine", "engine "},
    {"train.global_batch_size", "global batch ", Count},
    {"train.micro_batch_size", "micro batch ", Count},
    {"train.accumulate_grad_batches", "accumulation ", Count},
    {"train.max_seq_length", "T ≤ ", Count},
    {"train.epochs", "epochs "},
    {"train.max_steps", "max steps ", Count},
    {"optimizer.name", ""},
    {"optimizer.lr", "lr "},
    {"train.lr_schedule", "schedule "},
    {"seed", "seed "},
};

// How many devices share the work, and how; or nothing of the training itself.
bool IsOfGang(std::string_view key) {
  return key == "devices" || key == "strategy" || key == "sharding" || key == "fsdp_unit";
}

// Each in its own folder of one and the same, as a lab's jobs are: nobody chose that they differ.
bool AreInOneFolder(const std::vector<Run>& runs) {
  const auto folder = job::FolderAboveOwnName(runs.front().job);
  return folder && std::ranges::all_of(runs, [&](const Run& run) {
           return job::FolderAboveOwnName(run.job) == folder;
         });
}

// No setting, but what the hub's model was when the run began. Unknown ones do not differ.
std::optional<Row> RevisionRow(const std::vector<Run>& runs) {
  Row row{.key = "model.revision", .label = "model.revision", .section = "changed"};
  std::set<std::string> known;
  for (const Run& run : runs) {
    Value& value = row.values.emplace_back();
    if (!run.inspection || run.inspection->model_revision.empty()) continue;
    value.value = *known.insert(run.inspection->model_revision).first;
  }
  if (known.size() < 2) return std::nullopt;
  return row;
}

bool IsAroundTraining(std::string_view key) {
  return key.starts_with("output") || key.starts_with("checkpoint") || key.starts_with("profile") ||
         key == "track" || key == "resources.priority" || key == "resources.max_restarts" ||
         key.starts_with("resources.time_limit") || key.starts_with("resources.step_timeout");
}

}  // namespace

bool DifferInGangAlone(const Run& left, const Run& right) {
  const std::vector<Setting> settings = ResolvedSettings(left.job);
  const std::vector<Setting> others = ResolvedSettings(right.job);
  bool is_batch_equal = true, is_accumulation_equal = true;
  for (const auto& [key, text] : settings) {
    const auto other = std::ranges::find(others, key, &Setting::first);
    const bool is_equal = other != others.end() && other->second == text;
    if (is_equal || IsOfGang(key) || IsAroundTraining(key)) continue;
    if (key == "train.global_batch_size") {
      is_batch_equal = false;
    } else if (key == "train.accumulate_grad_batches") {
      is_accumulation_equal = false;
    } else {
      return false;
    }
  }
  return settings.size() == others.size() && (is_batch_equal || is_accumulation_equal);
}

std::vector<Row> ChangedRows(const std::vector<Run>& runs) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<std::string>> columns;
  for (size_t i = 0; i < runs.size(); ++i) {
    for (const auto& [key, text] : ResolvedSettings(runs[i].job)) {
      const auto [column, is_new] = columns.try_emplace(key, runs.size());
      if (is_new) order.push_back(key);
      column->second[i] = text;
    }
  }
  if (AreInOneFolder(runs)) std::erase(order, "output.dir");
  std::vector<Row> rows;
  for (const std::string& key : order) {
    const std::vector<std::string>& column = columns[key];
    if (std::set<std::string>(column.begin(), column.end()).size() < 2 || HasParts(key, order))
      continue;
    Row row{.key = key, .label = key, .unit = std::string(UnitOf(key)), .section = "changed"};
    for (const std::string& text : column) row.values.push_back(SettingValue(Worded(key, text)));
    rows.push_back(std::move(row));
  }
  if (std::optional<Row> revision = RevisionRow(runs)) {
    const bool is_behind_path = !rows.empty() && rows.front().key == "model.path";
    rows.insert(rows.begin() + (is_behind_path ? 1 : 0), std::move(*revision));
  }
  return rows;
}

std::vector<std::string> SameSettings(const std::vector<Run>& runs) {
  std::map<std::string, std::set<std::string>> values;
  for (const Run& run : runs) {
    for (const auto& [key, text] : ResolvedSettings(run.job)) values[key].insert(text);
  }
  std::vector<std::string> same;
  for (const SameWord& word : kSameWords) {
    const auto found = values.find(std::string(word.key));
    if (found == values.end() || found->second.size() != 1) continue;
    const std::string& text = *found->second.begin();
    if (text.empty() || text == "null") continue;
    same.push_back(std::string(word.before) +
                   (word.name_of != nullptr ? word.name_of(text) : text));
  }
  return same;
}

}  // namespace trainctl::compare
